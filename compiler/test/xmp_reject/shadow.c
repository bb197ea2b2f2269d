#include <xmp.h>
#define N 12
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(cyclic(2)) onto p
double a[N], b[N], c[N][3];
#pragma xmp align a[i] with t(i)
#pragma xmp align b[i] with t(i)
#pragma xmp align c[i][*] with t(i)
// error at 22: a cyclic dimension has no neighbours: its shadow is 0 or *
#pragma xmp shadow a[1]
#pragma xmp shadow b[*]
#pragma xmp shadow c[0][1]
int main(void) { return 0; }
