#include <xmp.h>
#define N 10
#pragma xmp nodes p(2,*)
#pragma xmp nodes q(*)
#pragma xmp template t(0:N-1,0:N-1)
#pragma xmp template u(0:N-1)
#pragma xmp template late(:)
// error at 24: there is no template 'none' here
#pragma xmp distribute none(block) onto p
// error at 24: the template 't' has 2 dimensions, and 1 format is given
#pragma xmp distribute t(block) onto p
// error at 44: there is no node array 'r' here
#pragma xmp distribute t(block,block) onto r
// error at 44: the node array 'q' has 1 dimension, and 2 dimensions of 't' are distributed
#pragma xmp distribute t(block,block) onto q
#pragma xmp distribute t(block,cyclic) onto p
// error at 24: the template 't' is distributed already
#pragma xmp distribute t(block,cyclic) onto p
#pragma xmp distribute u(block) onto q
#pragma xmp distribute late(block) onto q
double a[N][N], b[N], c[N], twice[N], first[N] = {1}, open[N];
int scalar;
// error at 19: there is no array 'nothing' here
#pragma xmp align nothing[i] with u(i)
// error at 19: there is no array 'scalar' here
#pragma xmp align scalar[i] with u(i)
// error at 19: 'a' has 2 dimensions, and 1 bracket is given
#pragma xmp align a[i] with u(i)
// error at 32: the template 't' has 2 dimensions, and 1 subscript is given
#pragma xmp align a[i][j] with t(i)
// error at 19: each variable and each : must stand once at the array and once at the template
#pragma xmp align a[i][j] with t(i,*)
// error at 31: an array must be aligned with i, i+n or i-n, for one of its variables i
#pragma xmp align b[i] with u(2*i)
// error at 19: the distributed array 'first' has initial values
#pragma xmp align first[i] with u(i)
// error at 19: the template 'late' has no shape yet, and the array 'open' needs one
#pragma xmp align open[i] with late(i)
#pragma xmp align twice[i] with u(i)
// error at 19: 'twice' is aligned already
#pragma xmp align twice[i] with u(i)
// error at 20: 'c' is no distributed array
#pragma xmp shadow c[1]
// error at 20: 'twice' has 1 dimension, and 2 widths are given
#pragma xmp shadow twice[1][1]
#pragma xmp shadow twice[1]
// error at 20: 'twice' has a shadow already
#pragma xmp shadow twice[1]
int main(void) { return scalar; }
