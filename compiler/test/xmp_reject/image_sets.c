#include <xmp.h>
#pragma xmp nodes p(*)
int a:[*], b[3]:[*], plain;
#pragma xmp coarray on p :: a
// error at 29: the images of 'a' are counted by a coarray directive already
#pragma xmp coarray on p :: a
// error at 29: 'plain' is not a coarray
#pragma xmp coarray on p :: plain
// error at 29: 'later' is not a coarray
#pragma xmp coarray on p :: later
int later:[*];
void function(int x[3]:[*]) {
#pragma xmp coarray on p :: x
// error at 29: 'b' is declared in another block
#pragma xmp coarray on p :: b
  {
// error at 29: 'x' is declared in another block
#pragma xmp coarray on p :: x
  }
}
