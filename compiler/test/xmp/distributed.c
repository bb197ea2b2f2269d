// References to distributed arrays: elements, members, rows and names, sizes, addresses; automatic arrays, parameters, pointers.
// double: no
#include "check.h"
#define N 24
#define M 5
struct point {
  float x;
  int n[2];
};
typedef int matrix[N][M];
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template c(0:N-1)
#pragma xmp distribute c(cyclic) onto p
extern double shared[N];
#pragma xmp align shared[i] with t(i)
double shared[N];
static struct point points[N], *where;
static matrix a, b;
static double m3[N][M][3], cyclic[N][M];
#pragma xmp align points[i] with t(i)
#pragma xmp align a[i][*] with t(i)
#pragma xmp align b[i][*] with t(i)
#pragma xmp align m3[i][*][*] with t(i)
#pragma xmp align cyclic[i][*] with c(i)
#pragma xmp shadow a[1][0]
#pragma xmp shadow shared[1:1]

static double sum_row(double row[M]) {
  double s = 0;
  for (int j = 0; j < M; j++) s += row[j];
  return s;
}
static int index_of(int i) { return i; }

static void add(double* x, const double y[N], int n) {
#pragma xmp align x[i] with t(i)
#pragma xmp align y[i] with t(i)
#pragma xmp shadow x[1]
#pragma xmp shadow y[1]
#pragma xmp loop on t(i)
  for (int i = 0; i < n; i++) x[i] += y[i];
}

// The directives before the body.
static long total(int v[N][M], int n)
#pragma xmp align v[i][*] with t(i)
#pragma xmp shadow v[1][0]
{
  long s = 0;
#pragma xmp loop on t(i) reduction(+:s)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < M; j++) s += v[i][j];
  return s;
}

static int depth(int n) {
  int local[N];
#pragma xmp align local[i] with t(i)
  int here = 0, wrong = 0;
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) local[i] = n;
  if (n > 0 && depth(n - 1) < 0) return -1;
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) {
    wrong += local[i] != n;
    here++;
  }
  return wrong > 0 ? -1 : here;
}

int main(void) {
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) {
    points[i].x = (float)i, points[i].n[1] = -i;
    for (int j = 0; j < M; j++) {
      a[i][j] = i * M + j;
      for (int k = 0; k < 3; k++) m3[i][j][k] = k + j;
    }
    b[i][a[i][0] % M] = a[i][a[i][1] % M];
    b[index_of(i)][1] += 2;
    shared[i]++;
    --shared[i];
    shared[i] = i;
  }
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) cyclic[i][j] = i + j;
  CHECK(sizeof a == sizeof(int) * N * M && sizeof a / sizeof a[0] == N && sizeof(points[0]) == sizeof(struct point));
  CHECK(sizeof(__typeof__(a[0])) == sizeof(int[M]) && _Alignof(double) >= sizeof(shared[0]) / 8);
  int seen = 0;
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) {
    where = &points[i];
    CHECK(where->x == i && (*where).n[1] == -i && points[i].n[1] == -i);
    const int* row = a[i];
    CHECK(row[3] == i * M + 3 && *a[i] == i * M && a[i] == &a[i][0]);
    CHECK(sum_row(m3[i][0]) != 0 && m3[i][1][2] == 3 && *m3[i][2] == 2);
    CHECK(b[i][0] >= 0);
    if (seen++ == 0) CHECK(points == &points[i]); /* no shadow: the local part begins with the first element */
  }
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) CHECK(cyclic[i][2] == i + 2 && sum_row(cyclic[i]) == 5 * i + 10);

  static double other[N];
  (void)other;
  add(shared, shared, N);
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) CHECK(shared[i] == 2 * i);
  CHECK(total(a, N) == (long)N * M * (N * M - 1) / 2);
  CHECK(depth(5) == seen);

  // In the order of the specification: a template without shape, a pointer, its memory.
  const int size = 10 * xmp_num_nodes() + 3;
#pragma xmp template late(:)
#pragma xmp distribute late(block) onto p
  float(*grid)[M];
#pragma xmp align grid[i][*] with late(i)
#pragma xmp shadow grid[1][0]
#pragma xmp template_fix late(0:size-1)
  grid = (float(*)[M])xmp_malloc(xmp_desc_of(grid), size, M);
  int n = 0;
#pragma xmp loop on late(i)
  for (int i = 0; i < size; i++)
    for (int j = 0; j < M; j++) grid[i][j] = (float)i, n++;
#pragma xmp loop on late(i)
  for (int i = 0; i < size; i++) CHECK(grid[i][M - 1] == i);
#pragma xmp task on late(size-1)
  CHECK(grid[size - 1][0] == size - 1);
#pragma xmp reduction(+:n)
  CHECK(n == size * M);
  xmp_free(grid);
  return 0;
}
