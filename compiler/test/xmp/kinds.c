// The reductions and clauses that other programs leave out: all operations of the reduction directive, firstmin and lastmin, bcast with async,
// reduce_shadow with its clauses.
// double: no
#include "check.h"
#define N 24
#pragma xmp nodes p(*)
#pragma xmp nodes q[*][1]
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template g[N][N]
#pragma xmp distribute g[block][block] onto q
static int a[N], twice[N];
#pragma xmp align a[i] with t(i)
#pragma xmp shadow a[2]
#pragma xmp align twice[i] with t(i)
#pragma xmp shadow twice[2:1]
static int plane[N][N];
#pragma xmp align plane[i][j] with g[i][j]
#pragma xmp shadow plane[1][1]

static void operations(int nodes, int me) {
  int all = ~(1 << me), any = 1 << me, odd = 3 << me, both = me < 5, one = me == nodes - 1;
  double least = 10.5 - me;
#pragma xmp reduction(&:all)
#pragma xmp reduction(|:any)
#pragma xmp reduction(^:odd)
#pragma xmp reduction(&&:both)
#pragma xmp reduction(||:one)
#pragma xmp reduction(min:least)
  CHECK(any == (1 << nodes) - 1 && all == ~any && both == (nodes <= 5) && one == 1 && least == 11.5 - nodes);
  int wanted = 0;
  for (int i = 0; i < nodes; i++) wanted ^= 3 << i;
  CHECK(odd == wanted);
}

static void locations(void) {
  int least = 1000, lowest = 1000, at = -1, last = -1;
#pragma xmp loop on t(i) reduction(firstmin:least/at/) reduction(lastmin:lowest/last/)
  for (int i = 0; i < N; i++) {
    if ((i * 7 + 3) % 5 < least) least = (i * 7 + 3) % 5, at = i;
    if ((i * 7 + 3) % 5 <= lowest) lowest = (i * 7 + 3) % 5, last = i;
  }
  CHECK(least == 0 && at == 1 && lowest == 0 && last == 21);
}

static void broadcasts(int nodes, int me) {
  int s = me == nodes - 1 ? 77 : -1;
  double row[3] = {me, me, me};
#pragma xmp bcast (s) from p(nodes) async(4)
#pragma xmp bcast (row) async(4)
#pragma xmp wait_async (4)
  CHECK(s == 77 && row[0] == 0 && row[2] == 0);
}

// What the shadows add: of as many elements below and above as `width` says.
static int added(int i, int nodes, int below, int above) {
  const int size = (N + nodes - 1) / nodes, begin = i / size * size, end = begin + size < N ? begin + size : N;
  return (begin > 0 && i < begin + above) + (end < N && i >= end - below);
}

static void shadows(int nodes) {
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) a[i] = twice[i] = i;
#pragma xmp reflect (a, twice)
  // Each node's shadow adds what it holds: the values of its neighbours.
#pragma xmp reduce_shadow (a) width(1) async(2)
#pragma xmp reduce_shadow (twice) width(2:0)
#pragma xmp wait_async (2)
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) {
    CHECK(a[i] == i + i * added(i, nodes, 1, 1));
    CHECK(twice[i] == i + i * added(i, nodes, 2, 0));
  }
#pragma xmp loop (i, j) on g[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) plane[i][j] = i * N + j;
#pragma xmp reflect (plane)
#pragma xmp reduce_shadow (plane) width(1, 0) orthogonal
#pragma xmp loop (i, j) on g[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) CHECK(plane[i][j] == (i * N + j) * (1 + added(i, nodes, 1, 1)));
}

int main(void) {
  const int nodes = xmp_num_nodes(), me = xmpc_node_num();
  operations(nodes, me);
  locations();
  broadcasts(nodes, me);
  shadows(nodes);
  return 0;
}
