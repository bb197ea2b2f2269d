// options: -acc
#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
double a[N], b[N], x;
#pragma xmp align a[i] with t(i)
#pragma xmp align b[i] with t(i)
#pragma xmp shadow a[1]
int main(void) {
// error at 13: 'acc' says that the reduction of this loop is on the device, and the loop has no reduction
#pragma xmp loop on t(i) acc
  for (int i = 0; i < N; i++) a[i] = 0;
#pragma acc parallel
  {
// error at 13: '#pragma xmp reflect' cannot stand in a compute region
#pragma xmp reflect (a) acc
  }
#pragma acc kernels
  {
    x = 0;
// error at 13: '#pragma xmp loop' with a reduction cannot stand in a compute region
#pragma xmp loop on t(i) reduction(+ : x)
    for (int i = 0; i < N; i++) x += a[i];
  }
  return 0;
}
