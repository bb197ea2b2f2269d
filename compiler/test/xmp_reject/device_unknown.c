// options: -acc
// from: the compiler
#include <xmp.h>
int v[10]:[*];
// error at 31: 'nosuch' undeclared
#pragma acc declare create(v, nosuch)
int main(void) {
  v[0]:[1] = 1;
  return 0;
}
