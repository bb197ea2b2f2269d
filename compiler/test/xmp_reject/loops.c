#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
double a[N];
#pragma xmp align a[i] with t(i)
int main(void) {
  int i, j = 0, n = 0;
  struct pair { int x; } s;
// error at 13: '#pragma xmp loop' must stand before a loop
#pragma xmp loop (i) on t(i)
  n++;
// error at 25: there is no template or node array 'u' here
#pragma xmp loop (i) on u(i)
  for (i = 0; i < N; i++) a[i] = 0;
// error at 25: 't' has 1 dimension, and 2 subscripts are given
#pragma xmp loop (i) on t(i,i)
  for (i = 0; i < N; i++) a[i] = 0;
// error at 22: there is no loop with the variable 'j' behind this
#pragma xmp loop (i, j) on t(i)
  for (i = 0; i < N; i++) a[i] = 0;
// error at 50: 'i' cannot tell where the value is: it is the variable of the loop
#pragma xmp loop (i) on t(i) reduction(lastmax:n/i/)
  for (i = 0; i < N; i++) n = n;
// error at 53: 'j' cannot tell where the value is
#pragma xmp loop (j) on t(j) reduction(firstmin:n/i,j/)
  for (int j = 0; j < N; j++) n = n;
#pragma xmp loop on t(i)
// error at 22: a divided loop must add the same step each time
  for (i = 0; i < N; i = 2 * i + 1) a[i] = 0;
#pragma xmp loop on t(i)
// error at 15: a divided loop must compare its variable with a bound
  for (i = 0; n < N && i < N; i++) a[i] = 0;
#pragma xmp loop on t(i)
// error at 22: this loop runs away from its bound
  for (i = 0; i < N; i--) a[i] = 0;
// error at 13: expand needs a width for each subscript behind on
#pragma xmp loop on t(i) expand(1,1)
  for (i = 0; i < N; i++) a[i] = 0;
// error at 40: 'n' is reduced twice
#pragma xmp loop on t(i) reduction(+:n,n)
  for (i = 0; i < N; i++) n += a[i] > 0;
// error at 38: a variable of type 'struct pair' cannot be reduced
#pragma xmp loop on t(i) reduction(+:s)
  for (i = 0; i < N; i++) s.x += a[i] > 0;
  return j;
}
