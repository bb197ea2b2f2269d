// Templates in both notations and all formats, and how arrays are aligned with them: offsets, replicated and collapsed dimensions,
// one element, colons; in functions, too.
// double: no
#include "check.h"
#define N 23
#define M 7
#pragma xmp nodes p(*), another[*][1]
#pragma xmp template t1(0:N-1), t2[N], wide[N][M]
#pragma xmp distribute t1(block) onto p
#pragma xmp distribute wide[block][cyclic] onto another
#pragma xmp distribute t2[cyclic] onto p
#pragma xmp template t3(1:N)
#pragma xmp distribute t3(cyclic(3)) onto p
#pragma xmp template t4(-5:N+4)
#pragma xmp distribute t4(block(40)) onto p
#pragma xmp template t5[N][M]
#pragma xmp distribute t5[block][*] onto p
#pragma xmp template t6(N)
#pragma xmp distribute t6(block) onto p
#pragma xmp template replicated(0:N-1)

static int a1[N], a2[N], a3[N], a4[N];
static long a5[N][M], row[M], collapsed[N][3], both[N][M];
static short a6[N], same[N];
static int one[N], grid[N][M];
#pragma xmp align grid[i][j] with wide[i][j]
#pragma xmp align a1[i] with t1(i)
#pragma xmp align a2[:] with t2[:]
#pragma xmp align a3[i] with t3(i+1)
#pragma xmp align a4[i] with t4(i - 2)
#pragma xmp align a5[i][j] with t5[i][j]
#pragma xmp align row[j] with t5[*][j]
#pragma xmp align collapsed[i][*] with t1(i)
#pragma xmp align both[:][:] with t5(:,:)
#pragma xmp align a6[i] with t6(1+i)
#pragma xmp align same[i] with replicated(i)
#pragma xmp align one[*] with t1(N/2)

static void set(void) {
#pragma xmp loop on t1(i)
  for (int i = 0; i < N; i++) a1[i] = i;
#pragma xmp loop on t2[i]
  for (int i = 0; i < N; i++) a2[i] = 2 * i;
#pragma xmp loop on t3(i+1)
  for (int i = 0; i < N; i++) a3[i] = 3 * i;
#pragma xmp loop (i) on t4(i-2)
  for (int i = 0; i < N; i++) a4[i] = 4 * i;
#pragma xmp loop (j, i) on t5[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) a5[i][j] = 100L * i + j;
  for (int j = 0; j < M; j++) row[j] = j;
#pragma xmp loop on t1(i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < 3; j++) collapsed[i][j] = 10 * i + j;
#pragma xmp loop on t6(i)
  for (int i = 1; i <= N; i++) a6[i - 1] = (short)i;
  for (int i = 0; i < N; i++) same[i] = (short)-i;
#pragma xmp loop (i, j) on t5(j,i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) both[i][j] = a5[i][j];
#pragma xmp task on t1(N/2)
  for (int i = 0; i < N; i++) one[i] = 7 * i;
}

static int counted(int nodes) {
  int here = 0;
#pragma xmp loop on t1(i)
  for (int i = 0; i < N; i++) {
    CHECK(a1[i] == i && collapsed[i][2] == 10 * i + 2);
    here++;
  }
#pragma xmp loop on t2(i)
  for (int i = 0; i < N; i++) {
    CHECK(a2[i] == 2 * i);
    CHECK(i % nodes == xmpc_node_num());
    here++;
  }
#pragma xmp loop on t3(i+1)
  for (int i = 0; i < N; i++) {
    CHECK(a3[i] == 3 * i);
    CHECK(i / 3 % nodes == xmpc_node_num());
    here++;
  }
#pragma xmp loop on t4(i-2)
  for (int i = 0; i < N; i++) {
    CHECK(a4[i] == 4 * i);
    here++;
  }
#pragma xmp loop on t5[i][*]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) {
      CHECK(a5[i][j] == 100L * i + j && row[j] == j);
      here++;
    }
#pragma xmp loop on t6(i+1)
  for (int i = 0; i < N; i++) {
    CHECK(a6[i] == i + 1 && same[i] == -i);
    here++;
  }
  return here;
}

int main(void) {
  const int nodes = xmp_num_nodes();
  set();
  int all = counted(nodes);
#pragma xmp reduction(+:all)
  CHECK(all == 5 * N + N * M);
#pragma xmp task on t1(N/2)
  CHECK(one[N - 1] == 7 * (N - 1));
  int marks = 0;
#pragma xmp loop (i, j) on wide[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) grid[i][j] = i + j, marks++;
#pragma xmp reduction(+:marks)
  CHECK(marks == N * M);
  const int size = 3 * nodes + 1;
  {
#pragma xmp template inner(0:size-1)
#pragma xmp distribute inner(block) onto p
    double x[size][2];
#pragma xmp align x[i][*] with inner(i)
    int n = 0;
#pragma xmp loop on inner(i)
    for (int i = 0; i < size; i++) {
      CHECK(x[i][1] == 0);
      x[i][0] = i, n++;
    }
    CHECK(sizeof x == (size_t)size * 2 * sizeof(double));
#pragma xmp reduction(+:n)
    CHECK(n == size);
  }
  return 0;
}
