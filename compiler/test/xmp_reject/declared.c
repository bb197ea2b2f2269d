#include <xmp.h>
#define N 10
int n = N;
enum { THREE = 3 };
#pragma xmp nodes p(*), r(THREE)
// error at 25: the node array 'p' is declared already
#pragma xmp nodes q(*), p(*)
// error at 21: 'n' is not a constant, and the sizes of node arrays at file scope must be constants
#pragma xmp nodes s(n)
#pragma xmp template t(0:N-1), large(0:sizeof(n)*N)
// error at 22: the template 't' is declared already
#pragma xmp template t(0:N)
// error at 26: 'n' is not a constant, and the numbers in declarations at file scope must be constants
#pragma xmp template u(0:n-1)
#pragma xmp distribute t(block) onto p
// error at 36: 'n' is not a constant, and the numbers in declarations at file scope must be constants
#pragma xmp distribute large(block(n)) onto p
double a[N], b[N];
#pragma xmp align a[i] with t(i)
// error at 33: 'n' is not a constant, and the numbers in declarations at file scope must be constants
#pragma xmp align b[i] with t(i+n)
// error at 22: 'n' is not a constant, and the numbers in declarations at file scope must be constants
#pragma xmp shadow a[n]
int main(void) {
#pragma xmp template t(0:n-1), p(0:n)
// error at 34: the template 't' is declared already
#pragma xmp template other(0:n), t(0:n)
  return 0;
}
