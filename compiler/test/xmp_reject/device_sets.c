// options: -acc
#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
int a[N]:[*], b[N];
// error at 13: 'devices' belongs to XcalableACC's device sets
#pragma acc devices d[*]
// error at 13: 'devices' belongs to XcalableACC's device sets
#pragma acc devices e[2] = nvidia[2:2]
// error at 31: 'layout' belongs to XcalableACC's device sets
#pragma acc declare create(b) layout([block]) shadow([1:1]) on_device(d)
int main(void) {
// error at 27: 'layout' belongs to XcalableACC's device sets
#pragma acc parallel loop layout(b[i])
  for (int i = 0; i < N; i++) b[i] = i;
// error at 13: 'reflect' belongs to XcalableACC's device sets
#pragma acc reflect(b)
// error at 28: 'on_device' belongs to XcalableACC's device sets
#pragma acc update self(b) on_device(d)
// error at 28: 'on_device' belongs to XcalableACC's device sets
#pragma acc barrier_device on_device(e)
  return 0;
}
