// Blocks of different sizes, known at the start and only later; full shadow; checked subscripts.
// options: -O1; -fcheck=bounds
// double: no
#include "check.h"
#define N 40
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
static double whole[N];
#pragma xmp align whole[i] with t(i)
#pragma xmp shadow whole[*]
static int cyclic[N];
#pragma xmp template c(0:N-1)
#pragma xmp distribute c(cyclic) onto p
#pragma xmp align cyclic[i] with c(i)
#pragma xmp shadow cyclic[*]

int main(void) {
  const int nodes = xmp_num_nodes(), me = xmpc_node_num();
  int sizes[nodes], total = 0;
  for (int i = 0; i < nodes; i++) total += sizes[i] = i + 1;
#pragma xmp template now(0:total-1)
#pragma xmp distribute now(gblock(sizes)) onto p
  int a[total];
#pragma xmp align a[i] with now(i)
  int n = 0;
#pragma xmp loop on now(i)
  for (int i = 0; i < total; i++) a[i] = i, n++;
  CHECK(n == me + 1);
#pragma xmp template late[:]
#pragma xmp distribute late[gblock(*)] onto p
  double* b;
#pragma xmp align b[i] with late[i]
  for (int i = 0; i < nodes; i++) sizes[i] = nodes - i;
#pragma xmp template_fix[gblock(sizes)] late[total]
  b = xmp_malloc(xmp_desc_of(b), total);
  n = 0;
#pragma xmp loop on late[i]
  for (int i = 0; i < total; i++) b[i] = 2 * i, n++;
  CHECK(n == nodes - me);
#pragma xmp loop on late[i]
  for (int i = 0; i < total; i++) CHECK(b[i] == 2 * i);
#pragma xmp loop on now(i)
  for (int i = 0; i < total; i++) CHECK(a[i] == i);
  xmp_free(b);

#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) whole[i] = i;
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) cyclic[i] = -i;
#pragma xmp reflect (whole, cyclic)
  for (int i = 0; i < N; i++) CHECK(whole[i] == i && cyclic[i] == -i);
  return 0;
}
