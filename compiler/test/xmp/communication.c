// reflect and reduce_shadow with their clauses; reduction, bcast, barrier on node sets; wait_async; local_alias.
// double: no
#include "check.h"
#define N 24
#define M 6
#pragma xmp nodes p(*)
#pragma xmp nodes q[*][1]
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template g[N][M]
#pragma xmp distribute g[block][block] onto q
static double a[N], b[N][M];
static int owned[N], copies[M];
#pragma xmp align a[i] with t(i)
#pragma xmp align b[i][j] with g[i][j]
#pragma xmp align owned[i] with t(i)
#pragma xmp align copies[j] with g[*][j]
#pragma xmp shadow a[2:1]
#pragma xmp shadow b[1][1]
#pragma xmp shadow owned[1]

static int low = 0, high = -1;

static void shadows(void) {
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) a[i] = i, owned[i] = 1;
#pragma xmp reflect (a)
  if (low <= high) {
    if (low > 1) CHECK(a[low - 1] == low - 1 && a[low - 2] == low - 2);
    if (high < N - 1) CHECK(a[high + 1] == high + 1);
  }
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) a[i] = -i;
#pragma xmp reflect (a) width(/periodic/1:1) async(3)
#pragma xmp wait_async (3)
  if (low <= high) {
    CHECK(a[low - 1] == -((low + N - 1) % N));
    CHECK(a[high + 1] == -((high + 1) % N));
    if (low > 1) CHECK(a[low - 2] == low - 2); /* not in the width */
  }
#pragma xmp loop (i, j) on g[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) b[i][j] = 100 * i + j;
#pragma xmp reflect (b) width(1,0) orthogonal
  if (low <= high && low > 0) CHECK(b[low - 1][3] == 100 * (low - 1) + 3);
  if (low <= high) {
    owned[low - 1] = low > 0 ? 10 : 0;
    owned[high + 1] = high < N - 1 ? 20 : 0;
  }
#pragma xmp reduce_shadow (owned)
  if (low <= high) {
    int expected = 1;
    if (low > 0) expected += 20;
    if (low == high && high < N - 1) expected += 10;
    CHECK(owned[low] == expected);
  }
}

static void collective(void) {
  const int nodes = xmp_num_nodes(), me = xmpc_node_num();
  int one = me + 1, many[2][3];
  double x = me * 0.5, y = 2;
  struct {
    int k;
    char name[9];
  } s = {me, "none"};
  for (int i = 0; i < 6; i++) many[i / 3][i % 3] = me + i;
#pragma xmp reduction(+:one, many) async(1)
#pragma xmp wait_async (1) on p
  CHECK(one == nodes * (nodes + 1) / 2 && many[1][2] == nodes * 5 + nodes * (nodes - 1) / 2);
#pragma xmp reduction(max:x)
#pragma xmp reduction(*:y) on p(1:nodes)
  CHECK(x == (nodes - 1) * 0.5 && y == (double)(1 << nodes));
  one = 1;
#pragma xmp reduction(+:one) on p(1)
#pragma xmp reduction(+:one) on p[*]
  CHECK(one == 1);
  if (me == nodes - 1) s.k = 77, strcpy(s.name, "last");
#pragma xmp bcast (s, x) from p[nodes-1]
  CHECK(s.k == 77 && strcmp(s.name, "last") == 0);
  x = me + 1;
#pragma xmp bcast (x)
  CHECK(x == 1);
  x = me;
#pragma xmp bcast (x) from t(N-1) on p
  CHECK(x * 1000 >= 0 && (high != N - 1 || x == me));
  for (int j = 0; j < M; j++) copies[j] = j + me;
#pragma xmp reduction(+:copies) on q[:][0]
  for (int j = 0; j < M; j++) CHECK(copies[j] == nodes * j + nodes * (nodes - 1) / 2);
  // In a loop the nodes of the iteration are meant.
#pragma xmp loop (i) on p[i]
  for (int i = 0; i < nodes; i++) {
    int alone = 1;
#pragma xmp reduction(+:alone)
#pragma xmp barrier
    CHECK(alone == 1 && i == me);
  }
}

int main(void) {
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) {
    if (high < low) low = i;
    high = i;
  }
  shadows();
  collective();
  double* local = NULL;
#pragma xmp local_alias local => a
  if (low <= high) CHECK(local + 2 == &a[low]);
  return 0;
}
