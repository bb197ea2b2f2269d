#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
#pragma xmp nodes q(1,*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template u(0:N-1,0:N-1)
#pragma xmp distribute u(block,block) onto q
double a[N], b[N][N], plain[N];
int c[N]:[*], places[N];
#pragma xmp align a[i] with t(i)
#pragma xmp align b[i][j] with u(j,i)
static void f(double x[N]) {
#pragma xmp array on t(:)
// error at 4: a section of a pointer needs a length
  x[:] = 1;
}
static void g(int n, double x[], double m[n], double* y) {
// error at 20: it is not known how many elements the parameter 'x' has
#pragma xmp bcast (x)
  n++;
// error at 27: the bound of the parameter 'm' is 'n' as it was when the function was called
#pragma xmp reduction (+: m)
// error at 20: 'y' is a pointer: an address means nothing on other nodes
#pragma xmp bcast (y)
}
int main(void) {
#pragma xmp array on t(:)
// error at 10: this has 2 sections, and the left side 1
  a[:] = b[:][:];
#pragma xmp array on t(:)
// error at 14: an array assignment that is divided over a template cannot read another image
  a[:] = c[:]:[1];
#pragma xmp array on t(:)
// error at 16: a section cannot stand in a subscript
  a[:] = plain[places[:]];
// error at 13: '#pragma xmp array' needs a template behind 'on'
#pragma xmp array on *
  a[:] = 1;
// error at 22: the template has 2 ranges here, and the left side 1 section
#pragma xmp array on u(:,:)
  plain[:] = 1;
  f(plain);
  g(N, plain, plain, plain);
}
