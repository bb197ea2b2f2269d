#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
double a[N], b[N], plain[N];
float f[N];
#pragma xmp align a[i] with t(i)
#pragma xmp align b[i] with t(i)
#pragma xmp align f[i] with t(i)
#pragma xmp shadow b[1]
// error at 13: the address of 'a' is known only when the program has started
double *q = a;
int main(void) {
  double x = 1;
// error at 22: 'a' has no shadow
#pragma xmp reflect (a)
// error at 22: this is no distributed array
#pragma xmp reflect (plain)
// error at 22: 'b' has 1 dimension, and 2 widths are given
#pragma xmp reflect (b) width(1,1)
// error at 28: there is no template or node array 'nobody' here
#pragma xmp bcast (x) from nobody(1)
// error at 26: 't' has its shape already
#pragma xmp template_fix t(0:N)
#pragma xmp gmove
// error at 3: gmove must stand before an assignment of one variable, element or section
  x++;
#pragma xmp gmove
// error at 3: gmove cannot convert elements: 'double' on the left, 'float' on the right
  a[:] = f[:];
#pragma xmp gmove
// error at 10: gmove must stand before an assignment of one variable, element or section
  a[:] = b[:] + 1;
// error at 4: a section of the distributed array 'a' stands here
  a[0:2] = 1;
// error at 22: the template has 1 range here, and the left side 0 sections
#pragma xmp array on t(0:N-1)
  a[0] = 1;
// error at 13: '#pragma xmp gmove' must stand before a statement
#pragma xmp gmove
}
