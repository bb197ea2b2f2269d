// XcalableACC's global view: distributed arrays and variables in device memory, and the acc clauses of communication.
// double: no
// needs: -acc
#include "check.h"
#define N 36
#define M 8
#pragma xmp nodes p(*)
#pragma xmp nodes q[*][1]
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template d(0:N-1)
#pragma xmp distribute d(cyclic) onto p
#pragma xmp template g[N][M]
#pragma xmp distribute g[block][block] onto q
static double a[N], b[N], c[N], plane[N][M];
static int dealt[N], all[N], stays[N];
#pragma xmp align a[i] with t(i)
#pragma xmp align b[i] with t(i)
#pragma xmp align c[i] with t(i)
#pragma xmp align plane[i][j] with g[i][j]
#pragma xmp align dealt[i] with d(i)
#pragma xmp align stays[i] with t(i)
#pragma xmp shadow a[1]
#pragma xmp shadow plane[1][1]
#pragma acc declare create(stays)

static int low = 0, high = -1;

static void shadows(void) {
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) a[i] = 0;
#pragma acc enter data copyin(a)
#pragma acc parallel loop present(a)
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) a[i] = 3 * i;
#pragma xmp reflect (a) acc
#pragma acc update self(a)
  if (low <= high) {
    if (low > 0) CHECK(a[low - 1] == 3 * (low - 1));
    if (high < N - 1) CHECK(a[high + 1] == 3 * (high + 1));
  }
  xmp_sync_all(NULL);
#pragma xmp reflect_init (a) width(/periodic/1) acc
  for (int round = 1; round < 4; round++) {
#pragma xmp loop on t(i)
#pragma acc parallel loop present(a)
    for (int i = 0; i < N; i++) a[i] = i + round;
    if (round < 3) {
#pragma xmp reflect_do (a) acc
    } else {
#pragma xmp reflect_do (a) async(round) acc
#pragma xmp wait_async (round) acc
    }
#pragma acc update self(a)
    if (low <= high) {
      CHECK(a[low - 1] == (low + N - 1) % N + round);
      CHECK(a[high + 1] == (high + 1) % N + round);
    }
    xmp_sync_all(NULL);
  }
#pragma acc exit data delete(a)
}

/* The paper's way: data regions, a stencil, and shadows between. */
static void stencil(void) {
#pragma acc data copy(plane)
  {
#pragma acc parallel loop present(plane)
#pragma xmp loop (i, j) on g[i][j]
    for (int i = 0; i < N; i++)
      for (int j = 0; j < M; j++) plane[i][j] = 100 * i + j;
#pragma xmp reflect (plane) width(1, 0) orthogonal acc
#pragma xmp barrier acc
  }
#pragma xmp loop (i, j) on g[i][j]
  for (int i = 1; i < N - 1; i++)
    for (int j = 0; j < M; j++) CHECK(plane[i - 1][j] + plane[i + 1][j] == 2 * plane[i][j]);
}

static void moves(void) {
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) b[i] = i, c[i] = -1;
#pragma xmp loop on d(i)
  for (int i = 0; i < N; i++) dealt[i] = 7 * i;
  for (int i = 0; i < N; i++) all[i] = -1;
#pragma acc enter data copyin(b, c, dealt, all)
#pragma xmp gmove acc
  c[0:N-2] = b[2:N-2];
#pragma acc update self(c)
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) CHECK(c[i] == (i < N - 2 ? i + 2 : -1));
  /* One side on the device, the other on the host. */
#pragma xmp gmove acc(dealt)
  all[:] = dealt[:];
  for (int i = 0; i < N; i++) {
    CHECK(all[i] == 7 * i);
    all[i] = -i;
  }
#pragma xmp gmove acc(dealt)
  dealt[:] = all[:];
#pragma acc update self(dealt)
#pragma xmp loop on d(i)
  for (int i = 0; i < N; i++) CHECK(dealt[i] == -i);
#pragma xmp gmove acc(all, dealt)
  all[1:N-1] = dealt[0:N-1];
#pragma acc update self(all)
  for (int i = 1; i < N; i++) CHECK(all[i] == 1 - i);
  double x = 0;
#pragma acc enter data copyin(x)
#pragma xmp gmove acc
  x = b[N - 1];
#pragma acc update self(x)
  CHECK(x == N - 1);
#pragma xmp gmove acc
  b[0:5] = x;
#pragma acc update self(b)
#pragma xmp loop on t(i)
  for (int i = 0; i < 6; i++) CHECK(b[i] == (i < 5 ? N - 1 : i));
#pragma acc exit data delete(b, c, dealt, all, x)
}

static void collective(void) {
  const int nodes = xmp_num_nodes(), me = xmp_node_num();
  int sum = me, most[3] = {me, -me, 5};
  double pair[2] = {me * 1.5, me};
#pragma acc data copy(sum, most, pair)
  {
#pragma xmp reduction(+:sum) acc
#pragma xmp reduction(max:most) async(4) acc
#pragma xmp bcast (pair) from p(nodes) acc
#pragma xmp wait_async (4) acc
  }
  CHECK(sum == nodes * (nodes + 1) / 2);
  CHECK(most[0] == nodes && most[1] == -1 && most[2] == 5);
  CHECK(pair[0] == nodes * 1.5 && pair[1] == nodes);

  /* A loop on the device of each node, and its parts joined: with the variable in a region around it, and without. */
  long long total = 10;
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) b[i] = i;
#pragma acc parallel loop copy(b, total) reduction(+:total)
#pragma xmp loop on t(i) reduction(+:total) acc
  for (int i = 0; i < N; i++) total += (long long)b[i];
  CHECK(total == 10 + N * (N - 1) / 2);
#pragma acc data copy(total) copyin(b)
  {
#pragma acc parallel loop present(b, total) reduction(+:total)
#pragma xmp loop on t(i) reduction(+:total) acc
    for (int i = 0; i < N; i++) total += (long long)b[i];
  }
  CHECK(total == 10 + N * (N - 1));
  double largest = -1;
#pragma acc parallel loop copy(b, largest) reduction(max:largest)
#pragma xmp loop on t(i) reduction(max:largest) acc
  for (int i = 0; i < N; i++)
    if (b[i] > largest) largest = b[i];
  CHECK(largest == N - 1);
}

/* In device memory as long as the program, an array of a function as long as the call. */
static void declared(void) {
  int mine[N];
#pragma xmp align mine[i] with t(i)
#pragma xmp shadow mine[1]
#pragma acc declare create(mine)
#pragma acc parallel loop present(stays, mine)
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) stays[i] = i + 1, mine[i] = 2 * i;
#pragma xmp reflect (mine) acc
#pragma acc update self(stays, mine)
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) CHECK(stays[i] == i + 1 && mine[i] == 2 * i);
  if (low <= high && low > 0) CHECK(mine[low - 1] == 2 * (low - 1));
  xmp_sync_all(NULL);
#pragma xmp gmove acc
  mine[:] = stays[:];
#pragma acc parallel loop
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) mine[i] += stays[i];
#pragma acc update self(mine)
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) CHECK(mine[i] == 2 * (i + 1));
}

/* Loops inside of one region; the device's address for other code. */
static void twice(double *x, long count) {
#pragma acc parallel loop deviceptr(x)
  for (long i = 0; i < count; i++) x[i] *= 2;
}
static void inside(void) {
#pragma acc enter data create(b, c)
#pragma acc parallel present(b, c)
  {
#pragma acc loop
#pragma xmp loop on t(i)
    for (int i = 0; i < N; i++) b[i] = i;
#pragma xmp loop on t(i)
#pragma acc loop
    for (int i = 0; i < N; i++) {
#pragma acc cache(b[i:1])
      c[i] = b[i] + 1;
    }
  }
  if (low <= high) {
#pragma acc host_data use_device(b)
    twice(&b[low], high - low + 1);
  }
#pragma acc update self(b, c)
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) CHECK(b[i] == 2 * i && c[i] == i + 1);
#pragma acc exit data delete(b, c)
}

int main(void) {
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) {
    if (high < 0) low = i;
    high = i;
  }
  shadows();
  stencil();
  moves();
  collective();
  declared();
  inside();
  xmp_sync_all(NULL);
  return 0;
}
