#include <xmp.h>
int a[3]:[*];
int main(void) {
// error at 18: there is no node array 'q' here
#pragma xmp post(q(1), 1)
  a[0] = 1;
// error at 13: '#pragma xmp nonblock' must stand before a block
#pragma xmp nonblock
}
