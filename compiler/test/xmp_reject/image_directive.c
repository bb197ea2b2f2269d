#include <xmp.h>
#pragma xmp nodes p(*)
int a:[*];
// error at 24: there is no node array 'q' here
#pragma xmp coarray on q :: a
int main(void) {
// error at 13: '#pragma xmp image' must stand before a call of a sync function
#pragma xmp image(p)
  a = 1;
// error at 13: '#pragma xmp image' must stand before a call of a sync function
#pragma xmp image(p)
  xmp_sync_memory(NULL);
// error at 19: there is no node array 'q' here
#pragma xmp image(q)
  xmp_sync_all(NULL);
  return 0;
}
