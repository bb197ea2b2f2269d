// options: -acc
#include <xmp.h>
int v[10]:[*], b[10];
double d[10];
#pragma acc declare create(v, b, d)
int main(void) {
#pragma acc host_data use_device(v, b, d)
  {
    // error at 16: 'b' is in device memory here, and the host computes this value
    v[1]:[2] = b[1] + 1;
    // error at 16: 'd' is in device memory here, and the host computes this value
    v[1]:[2] = d[1];
    // error at 10: the host cannot assign to device memory
    d[3] = v[1]:[2];
    // error at 10: the host cannot assign to device memory
    b[3] += v[1]:[2];
    // error at 20: 'd' is in device memory here, and the host computes this value
    v[:]:[2] = 2 * d[0];
    // error at 23: 'b' is in device memory here, and the host computes this value
    v[:]:[2] = v[:] * b[0];
  }
  return 0;
}
