#include <stdlib.h>
#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
double *a;
int b[N];
#pragma xmp align a[i] with t(i)
int main(void) {
// error at 19: 'b' is an array at file scope, and this directive is in a function
#pragma xmp align b[i] with t(i)
  a = xmp_malloc(xmp_desc_of(a), N);
// error at 8: the memory of the distributed array 'a' belongs to all nodes and does not come from malloc
  free(a);
  b[0] = 1;
}
