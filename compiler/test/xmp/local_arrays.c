// What libraries ask about the part of a distributed array that a node has: compared with what divided loops see.
// double: no
#include "check.h"
#define N 37
#define M 23
#pragma xmp nodes p(*)
#pragma xmp template t(0:N+4)
#pragma xmp distribute t(block) onto p
#pragma xmp template c(-2:N+4)
#pragma xmp distribute c(cyclic) onto p
#pragma xmp template c3(-2:N+4)
#pragma xmp distribute c3(cyclic(3)) onto p
static double blocks[N], plain[N];
#pragma xmp align blocks[i] with t(i+3)
#pragma xmp shadow blocks[1:2]
#pragma xmp align plain[i] with t(i)
static int dealt[N], threes[N], whole[N], copies[N];
#pragma xmp align dealt[i] with c(i-1)
#pragma xmp align threes[i] with c3(i+2)
#pragma xmp align whole[i] with c3(i)
#pragma xmp shadow whole[*]
#pragma xmp align copies[*] with t(*)
static float *open;
#pragma xmp align open[i] with t(i)
static long coarray[N]:[*];
static long cube[N][3][4];
#pragma xmp align cube[i][*][*] with t(i)

static char here[N + 8][N + 8];  // [dimension][subscript + 4]
#define CLEAR() memset(here, 0, sizeof here)

// Dimension `dim` against here[dim]; `below`, `above`: its shadow. The number of elements with memory.
static int dimension(xmp_desc_t d, int dim, int extent, int below, int above) {
  int size = -9, count = 0, first = extent, last = -1;
  for (int x = 0; x < extent; x++)
    if (here[dim][x + 4]) {
      if (first == extent) first = x;
      last = x, count++;
    }
  CHECK(xmp_array_lsize(d, dim, &size) == 0 && size == count);
  int index = -9, order = below;
  for (int x = -4; x < extent + 4; x++) {
    const int in_shadow = count > 0 && ((x >= first - below && x < first) || (x > last && x <= last + above));
    const int owned = x >= 0 && x < extent && here[dim][x + 4];
    index = -9;
    if (!owned && !in_shadow) {
      CHECK(xmp_array_gtol(d, dim, x, &index) == -1 && index == -9);
      continue;
    }
    CHECK(xmp_array_gtol(d, dim, x, &index) == 0);
    CHECK(index == (owned ? order : x < first ? x - first + below : below + count + x - last - 1));
    order += owned;
  }
  return count;
}

static void lines(void) {
  void *memory = NULL;
  int index = -9;
  CLEAR();
#pragma xmp loop on t(i+3)
  for (int i = 0; i < N; i++) here[1][i + 4] = 1, blocks[i] = 100 + i;
  dimension(xmp_desc_of(blocks), 1, N, 1, 2);
#pragma xmp reflect (blocks) width(/periodic/1:2)
  CHECK(xmp_array_laddr(xmp_desc_of(blocks), &memory) == 0 && memory == (void *)blocks);
  for (int i = -1; i < N + 2; i++)
    if (xmp_array_gtol(xmp_desc_of(blocks), 1, i, &index) == 0) CHECK(((double *)memory)[index] == 100 + (i + N) % N);

  CLEAR();
#pragma xmp loop on c(i-1)
  for (int i = 0; i < N; i++) here[1][i + 4] = 1, dealt[i] = i;
  const int had = dimension(xmp_desc_of(dealt), 1, N, 0, 0);
  CHECK(xmp_array_laddr(xmp_desc_of(dealt), &memory) == 0);
  for (int i = 0, k = 0; i < N; i++)
    if (here[1][i + 4]) CHECK(((int *)memory)[k++] == i && k <= had);

  CLEAR();
#pragma xmp loop on c3(i+2)
  for (int i = 0; i < N; i++) {
    here[1][i + 4] = 1;
    CHECK(xmp_array_gtol(xmp_desc_of(threes), 1, i, &index) == 0);
    CHECK(xmp_array_laddr(xmp_desc_of(threes), &memory) == 0 && (int *)memory + index == &threes[i]);
  }
  dimension(xmp_desc_of(threes), 1, N, 0, 0);

  // Full shadow: all of it has a place, and the node owns its part.
  int owned = 0, size = -9;
#pragma xmp loop on c3(i)
  for (int i = 0; i < N; i++) owned++;
  CHECK(xmp_array_lsize(xmp_desc_of(whole), 1, &size) == 0 && size == owned);
  for (int i = 0; i < N; i++) CHECK(xmp_array_gtol(xmp_desc_of(whole), 1, i, &index) == 0 && index == i);
  CHECK(xmp_array_gtol(xmp_desc_of(whole), 1, N, &index) < 0 && xmp_array_gtol(xmp_desc_of(whole), 1, -1, &index) < 0);

  CLEAR();
  memset(here[1] + 4, 1, N);
  CHECK(dimension(xmp_desc_of(copies), 1, N, 0, 0) == N);
}

// Two dimensions, each way round; the node array has `width` columns.
static void planes(int nodes, int width) {
#pragma xmp nodes grid(width, nodes / width)
#pragma xmp template plane(0:M-1, 0:N-1)
#pragma xmp distribute plane(block, block) onto grid
#pragma xmp template dealt2(0:M, 0:N-1)
#pragma xmp distribute dealt2(cyclic(2), block) onto grid
  int rows[N][M], columns[M][N];
  double mixed[M][N];
#pragma xmp align rows[i][j] with plane(j, i)
#pragma xmp shadow rows[2:1][0:3]
#pragma xmp align columns[i][j] with plane(i, j)
#pragma xmp align mixed[i][j] with dealt2(i+1, j)
#pragma xmp shadow mixed[0][1]
  void *memory = NULL;
  int lda = -9, li = -9, lj = -9, seen = 0;
  CLEAR();
  CHECK(xmp_array_laddr(xmp_desc_of(rows), &memory) == 0 && xmp_array_lda(xmp_desc_of(rows), &lda) == 0);
#pragma xmp loop (i, j) on plane(j, i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      here[1][i + 4] = here[2][j + 4] = 1, rows[i][j] = i * M + j, seen++;
      CHECK(xmp_array_gtol(xmp_desc_of(rows), 1, i, &li) == 0 && xmp_array_gtol(xmp_desc_of(rows), 2, j, &lj) == 0);
      CHECK((int *)memory + li * lda + lj == &rows[i][j]);
    }
  // Nothing in one dimension: nothing was seen in the other.
  if (seen > 0) CHECK(dimension(xmp_desc_of(rows), 1, N, 2, 1) * dimension(xmp_desc_of(rows), 2, M, 0, 3) == seen);
  CHECK(lda > 3);
#pragma xmp reflect (rows)
  int found = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++)
      if (xmp_array_gtol(xmp_desc_of(rows), 1, i, &li) == 0 && xmp_array_gtol(xmp_desc_of(rows), 2, j, &lj) == 0) {
        CHECK(((int *)memory)[li * lda + lj] == i * M + j);
        found++;
      }
  CHECK(found >= seen);

  CLEAR();
  seen = 0;
  CHECK(xmp_array_laddr(xmp_desc_of(columns), &memory) == 0 && xmp_array_lda(xmp_desc_of(columns), &lda) == 0);
#pragma xmp loop (i, j) on plane(i, j)
  for (int i = M - 1; i >= 0; i--)
    for (int j = N - 1; j >= 0; j--) {
      here[1][i + 4] = here[2][j + 4] = 1, seen++;
      CHECK(xmp_array_gtol(xmp_desc_of(columns), 1, i, &li) == 0 && xmp_array_gtol(xmp_desc_of(columns), 2, j, &lj) == 0);
      CHECK((int *)memory + li * lda + lj == &columns[i][j]);
    }
  if (seen > 0) CHECK(dimension(xmp_desc_of(columns), 1, M, 0, 0) * dimension(xmp_desc_of(columns), 2, N, 0, 0) == seen);

  CLEAR();
  seen = 0;
  CHECK(xmp_array_laddr(xmp_desc_of(mixed), &memory) == 0 && xmp_array_lda(xmp_desc_of(mixed), &lda) == 0);
#pragma xmp loop (i, j) on dealt2(i+1, j)
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      here[1][i + 4] = here[2][j + 4] = 1, seen++;
      CHECK(xmp_array_gtol(xmp_desc_of(mixed), 1, i, &li) == 0 && xmp_array_gtol(xmp_desc_of(mixed), 2, j, &lj) == 0);
      CHECK((double *)memory + li * lda + lj == &mixed[i][j]);
    }
  if (seen > 0) CHECK(dimension(xmp_desc_of(mixed), 1, M, 0, 0) * dimension(xmp_desc_of(mixed), 2, N, 1, 1) == seen);
}

// Rows of whole pages are apart by more than what they hold.
static void wide_rows(int nodes) {
#pragma xmp template w(0:512*nodes-1)
#pragma xmp distribute w(block) onto p
  double wide[3][512 * nodes];
#pragma xmp align wide[*][j] with w(j)
  void *memory = NULL;
  int lda = -9, size = -9, lj = -9;
  CHECK(xmp_array_lsize(xmp_desc_of(wide), 1, &size) == 0 && size == 3);
  CHECK(xmp_array_lsize(xmp_desc_of(wide), 2, &size) == 0 && size == 512);
  CHECK(xmp_array_laddr(xmp_desc_of(wide), &memory) == 0 && xmp_array_lda(xmp_desc_of(wide), &lda) == 0);
  for (int i = 0; i < 3; i++) {
#pragma xmp loop on w(j)
    for (int j = 0; j < 512 * nodes; j++) {
      CHECK(xmp_array_gtol(xmp_desc_of(wide), 2, j, &lj) == 0 && lj == j % 512);
      CHECK((double *)memory + i * lda + lj == &wide[i][j]);
    }
  }
}

// Arrays that only some nodes have, in tasks and in parameters; irregular blocks.
static void some(int nodes) {
#pragma xmp nodes last(1) = p(nodes)
#pragma xmp template s(0:N-1)
#pragma xmp distribute s(block) onto last
  int one[N];
#pragma xmp align one[i] with s(i)
#pragma xmp shadow one[1]
  int size = -9, index = -9;
  const int mine = xmp_node_num() == nodes;
  CHECK(xmp_array_lsize(xmp_desc_of(one), 1, &size) == 0 && size == (mine ? N : 0));
  CHECK(xmp_array_gtol(xmp_desc_of(one), 1, 5, &index) == (mine ? 0 : -1) && index == (mine ? 6 : -9));

  int sizes[nodes], total = 0, begin = 0;
  for (int r = 0; r < nodes; r++) {
    if (r == xmpc_node_num()) begin = total;
    total += sizes[r] = r % 3 * 4;  // some have nothing
  }
  if (nodes == 1) total = sizes[0] = 4;
#pragma xmp template g(0:total-1)
#pragma xmp distribute g(gblock(sizes)) onto p
  char uneven[total];
#pragma xmp align uneven[i] with g(i)
#pragma xmp shadow uneven[1]
  const int own = sizes[xmpc_node_num()];
  CHECK(xmp_array_lsize(xmp_desc_of(uneven), 1, &size) == 0 && size == own);
  index = -9;
  CHECK(xmp_array_gtol(xmp_desc_of(uneven), 1, begin - 1, &index) == (own > 0 ? 0 : -1) && index == (own > 0 ? 0 : -9));
  CHECK(own == 0 || (xmp_array_gtol(xmp_desc_of(uneven), 1, begin + own - 1, &index) == 0 && index == own));
}

static void parameter(double x[N]) {
#pragma xmp align x[i] with t(i)
  int size = -9, expected = 0;
  void *memory = NULL;
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) expected++;
  CHECK(xmp_array_lsize(xmp_desc_of(x), 1, &size) == 0 && size == expected);
  CHECK(xmp_array_laddr(xmp_desc_of(x), &memory) == 0 && memory == (void *)x);
}

static void errors(void) {
  int value = -9;
  void *memory = &value;
  xmp_desc_t not_arrays[] = {NULL, xmp_desc_of(p), xmp_desc_of(t), xmp_desc_of(coarray), xmp_desc_of(open)};
  for (int k = 0; k < 5; k++) {
    CHECK(xmp_array_gtol(not_arrays[k], 1, 0, &value) == -1 && xmp_array_lsize(not_arrays[k], 1, &value) == -1);
    CHECK(xmp_array_lda(not_arrays[k], &value) == -1 && xmp_array_laddr(not_arrays[k], &memory) == -1);
  }
  const int wrong[] = {-1, 0, 4};
  for (int k = 0; k < 3; k++) {
    CHECK(xmp_array_gtol(xmp_desc_of(cube), wrong[k], 0, &value) == -1);
    CHECK(xmp_array_lsize(xmp_desc_of(cube), wrong[k], &value) == -1);
  }
  // The leading dimension is that of matrices.
  CHECK(xmp_array_lda(xmp_desc_of(cube), &value) == -1 && xmp_array_lda(xmp_desc_of(blocks), &value) == -1);
  CHECK(value == -9 && memory == &value);
  CHECK(xmp_array_lsize(xmp_desc_of(cube), 3, &value) == 0 && value == 4);
  CHECK(xmp_array_gtol(xmp_desc_of(cube), 2, 3, &value) == -1);
  open = xmp_malloc(xmp_desc_of(open), N);
  CHECK(xmp_array_laddr(xmp_desc_of(open), &memory) == 0 && memory == (void *)open);
  xmp_free(open);
  CHECK(xmp_array_laddr(xmp_desc_of(open), &memory) == -1 && xmp_array_lsize(xmp_desc_of(open), 1, &value) == -1);
}

int main(void) {
  const int nodes = xmp_num_nodes();
  lines();
  planes(nodes, 1);
  planes(nodes, nodes);
  if (nodes % 2 == 0) planes(nodes, 2);
  wide_rows(nodes);
  some(nodes);
  parameter(plain);
  errors();
  return 0;
}
