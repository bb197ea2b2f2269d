#include <stdio.h>
int n = 4;
int main(void) {
  // error at 14: 'a' is an automatic variable
  dlm double a[3];
  for (int i = 0; i < 3; i++) {
    // error at 19: 'b' is an automatic variable
    const dlm int b[2] = {1, 2};
    a[i] = b[0];
  }
  // error at 12: 'v' is an automatic variable
  dlm char v[n];
  // error at 20: 'r' is an automatic variable
  register dlm int r[2];
  (void)v, (void)sizeof r;
  return (int)a[0];
}
