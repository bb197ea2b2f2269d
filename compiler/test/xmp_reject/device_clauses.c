// options: -acc
#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
double a[N], b[N], x;
#pragma xmp align a[i] with t(i)
#pragma xmp align b[i] with t(i)
int main(void) {
// error at 26: 'x' is on neither side of the assignment
#pragma xmp gmove acc(a, x)
  a[:] = b[:];
// error at 23: there are no sets of devices
#pragma xmp bcast (x) from_device d[0] from p(1) acc
  return 0;
}
