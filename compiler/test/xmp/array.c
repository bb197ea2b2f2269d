// array: sections go with the template as the arrays are aligned with it, in all dimensions, distributions and forms.
// double: no
#include "check.h"
#define N 8
#define M 6
#pragma xmp nodes p(*)
#pragma xmp nodes q(1,*)
#pragma xmp nodes r[*][1]
#pragma xmp template t(0:N-1,0:N-1)
#pragma xmp distribute t(block,block) onto q
#pragma xmp template u(2:9,-1:4)
#pragma xmp distribute u(cyclic(2),*) onto p
#pragma xmp template v[M][N]
#pragma xmp distribute v[block][cyclic] onto r
static int a[N][N], b[N][N], c[N - 2][M - 1], row[N], column[N], plain[N][N], v1[M][N], wide[N], cube[3][N][N];
#pragma xmp align a[i][j] with t(i,j)
#pragma xmp align b[i][j] with t(j,i)
#pragma xmp align c[i][j] with u(i+3,j-1)
#pragma xmp align row[i] with t(i,*)
#pragma xmp align column[j] with t(3,j)
#pragma xmp align v1[i][j] with v[i][j]
#pragma xmp align wide[i] with t(i,*)
#pragma xmp align cube[*][j][i] with t(i,j)
#pragma xmp shadow wide[1:1]
#pragma xmp shadow b[0][2]

// The elements of a that have another value than its section says, on all nodes.
static int wrong(int rows, int columns, int inside, int outside) {
  int bad = 0;
#pragma xmp loop (i, j) on t(i,j) reduction(+:bad)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) bad += a[i][j] != (i < rows && j < columns ? inside : outside);
  return bad;
}

static void alignments(void) {
#pragma xmp array on t(:,:)
  a[:][:] = 1;
  CHECK(wrong(N, N, 1, 0) == 0);
#pragma xmp array on t(0:2,0:4)
  a[0:3][0:5] = 7;
  CHECK(wrong(3, 5, 7, 1) == 0);
#pragma xmp array on t
  b[:][:] = 2;
#pragma xmp array on t(1:4,6:0:-2)
  b[6:4:-2][1:4] += 10;
#pragma xmp loop (i, j) on t(j,i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) CHECK(b[i][j] == (i % 2 == 0 && j > 0 && j < 5 ? 12 : 2));
#pragma xmp array on u(:,:)
  c[:][:] = 3;
#pragma xmp array on u(4:9:3,0:2)
  c[1:2:3][1:3] = 4;
#pragma xmp loop (i) on u(i+3,*)
  for (int i = 0; i < N - 2; i++)
    for (int j = 0; j < M - 1; j++) CHECK(c[i][j] == (i % 3 == 1 && j > 0 && j < 4 ? 4 : 3));
#pragma xmp array on v[:][:]
  v1[:][:] = 5;
#pragma xmp array on v[1:3][2]
  v1[1:3][2] = 6;
#pragma xmp loop (i, j) on v[i][j]
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) CHECK(v1[i][j] == (i > 0 && i < 4 && j == 2 ? 6 : 5));
}

// Dimensions that are not aligned, and those of the template that nothing is aligned with.
static void parts(void) {
#pragma xmp array on t(:,:)
  row[:] = 1;
#pragma xmp array on t(:,:)
  column[:] = 2;
#pragma xmp array on t(:,:)
  cube[:][:][:] = 4;
#pragma xmp array on t(2:3,:)
  cube[1][:][2:2] = 5;
#pragma xmp loop (i) on t(i,*)
  for (int i = 0; i < N; i++) CHECK(row[i] == 1);
#pragma xmp loop (j) on t(3,j)
  for (int j = 0; j < N; j++) CHECK(column[j] == 2);
#pragma xmp loop (i, j) on t(i,j)
  for (int j = 0; j < N; j++)
    for (int i = 0; i < N; i++)
      for (int k = 0; k < 3; k++) CHECK(cube[k][j][i] == (k == 1 && (i == 2 || i == 3) ? 5 : 4));
}

static int calls;
static int once(int x) {
  calls++;
  return x;
}

// What is read: neighbours in a shadow, what every node has, other types of memory, and the same array.
static void operands(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) plain[i][j] = 10 * i + j;
#pragma xmp array on t(:,:)
  a[:][:] = plain[:][:];
#pragma xmp array on t(:,:)
  b[:][:] = plain[:][:];
#pragma xmp array on t(:,:)
  a[:][:] += 100 * plain[N - 1:N:-1][:];
#pragma xmp loop (i, j) on t(i,j)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) CHECK(a[i][j] == 10 * i + j + 100 * (10 * (N - 1 - i) + j));
#pragma xmp array on t(:,:)
  wide[:] = plain[3][:];
#pragma xmp reflect (wide)
#pragma xmp array on t(1:N-2,:)
  row[1:N-2] = wide[0:N-2] + wide[2:N-2] + once(5);
#pragma xmp loop (i) on t(i,*)
  for (int i = 1; i < N - 1; i++) CHECK(row[i] == 60 + 2 * i + 5);
#pragma xmp array on u(:,:)
  c[:][:] = plain[:N-2][:M-1];
  // The column is read as a whole before it is written.
#pragma xmp array on u(:,:)
  c[:][0:4] = c[:][1:4];
#pragma xmp loop (i) on u(i+3,*)
  for (int i = 0; i < N - 2; i++)
    for (int j = 0; j < M - 1; j++) CHECK(c[i][j] == 10 * i + (j < 4 ? j + 1 : j));
  calls = 0;
#pragma xmp array on u(:,:)
  c[:][once(1)] = once(8);
  CHECK(calls >= 1 && calls <= 2);
#pragma xmp array on u(:,:)
  c[:][0] = c[:][1] > 0 && once(1) ? c[:][1] : 0;
#pragma xmp loop (i) on u(i+3,*)
  for (int i = 0; i < N - 2; i++) CHECK(c[i][0] == 8 && c[i][1] == 8);
}

// Under other names.
static void shift(int from[N], int to[N]) {
#pragma xmp align from[i] with t(i,*)
#pragma xmp align to[i] with t(i,*)
#pragma xmp shadow from[1:1]
#pragma xmp shadow to[1:1]
#pragma xmp reflect (from)
#pragma xmp array on t(1:N-1,:)
  to[1:N-1] = from[0:N-1];
}

int main(void) {
  alignments();
  parts();
  operands();
#pragma xmp array on t(:,:)
  wide[:] = plain[0][:];
  shift(wide, wide);
#pragma xmp loop (i) on t(i,*)
  for (int i = 1; i < N; i++) CHECK(wide[i] == i - 1);
  return 0;
}
