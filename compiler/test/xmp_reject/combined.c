#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
// error at 13: the attributes 'template' and 'align' cannot stand in one directive
#pragma xmp template, align (i) with t(i) :: t(0:N-1)
// error at 13: the attribute 'template' stands here twice
#pragma xmp template, template :: t(0:N-1)
// error at 13: 'dimension' is no attribute of a combined directive
#pragma xmp nodes, dimension(4) :: q
// error at 13: a name is missing behind '::'
#pragma xmp nodes :: q(4),
int main(void) { return 0; }
