// options: -acc
#include <xmp.h>
int v[10]:[*], w[10]:[*], s:[*], b[10], *p:[*];
#pragma acc declare create(v, s)
// error at 28: a coarray cannot stand in 'declare copyin'
#pragma acc declare copyin(w)
#pragma acc declare create(p)
int main(void) {
  int *inside:[*];
// error at 28: 'inside' is no coarray of file scope
#pragma acc declare create(inside)
// error at 34: the coarray 'w' has no device memory
#pragma acc host_data use_device(w)
  b[:] = w[:]:[1];
// error at 13: 'if' cannot stand in a host_data directive with coarrays
#pragma acc host_data use_device(v) if(b[0])
  b[:] = v[:]:[1];
// error at 25: 'copyin' copies nothing here: 'v' is in device memory from the beginning
#pragma acc data copyin(v)
  {}
// error at 31: only 'declare create' puts a coarray into device memory
#pragma acc enter data create(w)
// error at 41: a coarray cannot stand in 'reduction'
#pragma acc parallel loop reduction(+ : s)
  for (int i = 0; i < 10; i++) s += i;
#pragma acc parallel loop
  for (int i = 0; i < 10; i++) {
    // error at 9: a reference to another image cannot stand in a compute region
    v[i]:[2] = i;
  }
#pragma acc kernels
  {
    // error at 6: an array assignment cannot stand in a compute region
    v[0:3] = 1;
  }
#pragma acc serial
  {
// error at 13: '#pragma xmp' cannot stand in a compute region
#pragma xmp wait_nonblock
  }
  return 0;
}
