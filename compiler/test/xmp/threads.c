// OpenMP in divided loops: names of distributed arrays in clauses, default(none), loops that are divided twice; directives that one thread
// executes.
// double: no
// needs: -fopenmp
#include <omp.h>

#include "check.h"
#define N 24
#define M 10
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template c(0:N-1)
#pragma xmp distribute c(cyclic(3)) onto p
static double a[N][M], wanted[N];
static int dealt[N];
#pragma xmp align a[i][*] with t(i)
#pragma xmp align wanted[i] with t(i)
#pragma xmp align dealt[i] with c(i)
#pragma xmp shadow a[1][0]
static int *open;
#pragma xmp align open[i] with t(i)

static double sum(double x[N][M]) {
#pragma xmp align x[i][*] with t(i)
#pragma xmp shadow x[1][0]
  double s = 1;
#pragma xmp loop on t(i) reduction(+:s)
#pragma omp parallel for default(none) shared(x) reduction(+:s) collapse(2) schedule(static, 2)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) s += x[i][j];
  return s;
}

static void fill(void) {
  int i, j;
#pragma xmp loop (i) on t(i)
#pragma omp parallel for private(j) shared(a, wanted) default(none)
  for (i = 0; i < N; i++) {
    wanted[i] = 2;
#pragma omp simd
    for (j = 0; j < M; j++) a[i][j] = i * M + j;
  }
#pragma omp parallel
  {
#pragma omp for
#pragma xmp loop on t(i)
    for (int i = 0; i < N; i++) a[i][0] += 0.5;
  }
}

// XcalableMP is for one thread of each node.
static void one_thread(void) {
  int nodes = 1, i, n = 0, all = 0, values[N];
  double s = 0;
#pragma omp parallel num_threads(2) private(i)
  {
#pragma omp single
    {
#pragma xmp reduction(+:nodes)
#pragma xmp loop on t(i) reduction(+:s)
      for (i = 0; i < N; i++) s += wanted[i];
    }
#pragma omp master
    {
#pragma xmp loop on c(i) reduction(+:n)
      for (i = 0; i < N; i++) dealt[i] = 5 * i, n++;
#pragma xmp gmove
      values[:] = dealt[:];
#pragma xmp barrier
    }
#pragma omp barrier
#pragma omp for ordered
    for (i = 0; i < 3; i++)
#pragma omp ordered
    {
      int one = 1;
#pragma xmp reduction(+:one)
      all += one;
    }
#pragma omp sections
    {
#pragma omp section
#pragma xmp bcast(values) from p(1)
    }
  }
  CHECK(nodes == xmp_num_nodes() && s == 2 * N && n == N && all == 3 * nodes);
  for (i = 0; i < N; i++) CHECK(values[i] == 5 * i);
}

int main(void) {
  fill();
  one_thread();
  CHECK(sum(a) == 1 + N * M * (N * M - 1) / 2 + 0.5 * N);
  int first = -1, seen = 0, inside = 0;
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++)
    if (first < 0) first = i;
  if (first >= 0) {
    // An element of this node, where C has a value.
#pragma omp parallel num_threads((int)wanted[first]) if (wanted[first] > 1) default(none) shared(seen, inside)
    {
#pragma omp atomic
      seen++;
#pragma omp single
      inside = omp_get_num_threads();
    }
    CHECK(seen == inside);
    // More threads than two there never are.
    CHECK(inside == 1 || inside == 2);
  }
  open = xmp_malloc(xmp_desc_of(open), N);
#pragma omp parallel for default(none) shared(open)
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) open[i] = 3 * i;
  int most = 0;
#pragma xmp loop on t(i) reduction(max:most)
#pragma omp parallel for reduction(max:most) shared(open)
  for (int i = 0; i < N; i++)
    if (open[i] > most) most = open[i];
  CHECK(most == 3 * (N - 1));
  xmp_free(open);
  double own[N];
#pragma xmp align own[i] with t(i)
  int tasks = 0;
#pragma xmp loop on t(i) reduction(+:tasks)
  for (int i = 0; i < N; i++) {
#pragma omp task shared(own, tasks) if (own[i] > 0)
    {
      own[i] = i;
#pragma omp atomic
      tasks++;
    }
#pragma omp taskwait
    CHECK(own[i] == i);
  }
  CHECK(tasks == N);
  // The nodes reduce behind the threads.
  double twice = 1;
#pragma omp parallel for reduction(+:twice)
#pragma xmp loop on t(i) reduction(+:twice)
  for (int i = 0; i < N; i++) twice += wanted[i];
  CHECK(twice == 2 * N + 1);
  // What OpenMP cannot divide, it can run inside of.
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) {
    int n = 0;
#pragma omp parallel for reduction(+:n)
    for (int j = 0; j < M; j++) n += j;
    dealt[i] = n + i;
  }
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) CHECK(dealt[i] == M * (M - 1) / 2 + i);
  return 0;
}
