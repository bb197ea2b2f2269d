#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
#pragma xmp template u(0:N-1)
// error at 13: '#pragma xmp nodes': '*' in the last dimension only is expected at its end
#pragma xmp nodes bad(*,2)
// error at 13: '#pragma xmp distribute': 'block', 'cyclic', 'gblock' or '*' is expected before 'blocks'
#pragma xmp distribute u(blocks) onto q
// error at 13: '#pragma xmp reflect' must stand in a function
#pragma xmp reflect (a)
int main(void) {
  int i, n = 0;
  double a[N], x;
// error at 13: '#pragma xmp loop': a known operation is expected before ':'
#pragma xmp loop on t(i) reduction(plus:n)
  for (i = 0; i < N; i++) n += a[i] > 0;
// note: write reduction(firstmax:variable/location,../)
// error at 13: '#pragma xmp loop': '/' is expected before ')'
#pragma xmp loop on t(i) reduction(firstmax:n/i)
  for (i = 0; i < N; i++) n += a[i] > 0;
// note: write reduction(lastmin:variable/location,../)
// error at 13: '#pragma xmp loop': '/', with the variables that say where, is expected before ')'
#pragma xmp loop on t(i) reduction(lastmin:n)
  for (i = 0; i < N; i++) n += a[i] > 0;
// note: write loop .. reduction(firstmax:variable/location,../), or firstmin, lastmax, lastmin
// error at 13: '#pragma xmp loop': ')', as max has no variables that say where, is expected before '/'
#pragma xmp loop on t(i) reduction(max:n/i/)
  for (i = 0; i < N; i++) n += a[i] > 0;
// error at 13: '#pragma xmp loop': 'on' is expected
#pragma xmp loop (i)
  for (i = 0; i < N; i++) a[i] = 0;
// error at 13: '#pragma xmp reduction': a known operation is expected before ':'
#pragma xmp reduction(avg:x)
// error at 13: '#pragma xmp reduction': an operation other than firstmax, which belongs to loops, is expected before ':'
#pragma xmp reduction(firstmax:x)
// error at 13: '#pragma xmp barrier': a clause or the end is expected before 'off'
#pragma xmp barrier off p
// error at 13: '#pragma xmp align': '[' is expected before 'with'
#pragma xmp align a with u(i)
// error at 13: '#pragma xmp gmove': a clause or the end is expected before 'out'
#pragma xmp gmove in out
  a[0] = a[1];
// error at 13: '#pragma xmp reflect': 'periodic' is expected before 'round'
#pragma xmp reflect (a) width(/round/1)
  return n;
}
