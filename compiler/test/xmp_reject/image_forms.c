#include <xmp.h>
#pragma xmp nodes p(*)
int a:[*];
// error: 'on' is expected before 'p'
#pragma xmp coarray p :: a
// error: ':' is expected before 'a'
#pragma xmp coarray on p a
// error: a node array without subscripts is expected
#pragma xmp coarray on p(1) :: a
// error: the name of a coarray is expected at its end
#pragma xmp coarray on p :: a,
// error: '#pragma xmp image' must stand in a function
#pragma xmp image(p)
int main(void) {
// error: '(' is expected before 'p'
#pragma xmp image p
  xmp_sync_all(NULL);
  return 0;
}
