// options: -acc
#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template c(0:N-1)
#pragma xmp distribute c(cyclic) onto p
double a[N], b[N];
#pragma xmp align a[i] with t(i)
#pragma xmp align b[i] with c(i)
double there[N];
#pragma xmp align there[i] with t(i)
#pragma acc declare create(there)
double* open;
#pragma xmp align open[i] with t(i)
int main(void) {
// error at 31: 'copyin' takes whole distributed arrays only, which means the part that this node has
#pragma acc enter data copyin(a[0:5])
#pragma xmp loop on t(i)
// error at 35: the distributed array 'a' cannot stand in 'private'
#pragma acc parallel loop private(a)
  for (int i = 0; i < N; i++) a[i] = 0;
#pragma acc parallel
  {
    a[0] = 0;
// error at 13: the iterations of this node are not known before this compute region begins
#pragma xmp loop on c(i)
    for (int i = 0; i < N; i++) b[i] = 0;
  }
// error at 23: 'copy' copies nothing here: 'there' is in device memory from the beginning
#pragma acc data copy(there)
  {}
#pragma xmp loop on c(i)
#pragma acc parallel loop
// error at 3: OpenMP and OpenACC cannot divide this loop once more: a cyclic distribution
  for (int i = 0; i < N; i++) b[i] = 0;
#pragma acc parallel
// error at 3: the distributed pointer 'open' is used by a device outside of a loop
  open[0] = 1;
  return 0;
}
