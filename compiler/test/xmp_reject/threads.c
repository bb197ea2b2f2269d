// options: -fopenmp
#include <xmp.h>
#define N 10
#define M 4
#pragma xmp nodes p(*)
#pragma xmp nodes q(1,*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template c(0:N-1)
#pragma xmp distribute c(cyclic) onto p
#pragma xmp template u(0:N-1,0:M-1)
#pragma xmp distribute u(block,block) onto q
double a[N], v[M][N];
#pragma xmp align a[i] with t(i)
#pragma xmp align v[i][j] with u(j,i)
int last(int i) { return M - i % 2; }
int main(void) {
  int n = 0;
#pragma xmp loop on t(i)
// error at 39: the distributed array 'a' cannot stand in 'firstprivate'
#pragma omp parallel for firstprivate(a)
  for (int i = 0; i < N; i++) a[i] = 0;
#pragma xmp loop on t(i)
// error at 40: the distributed array 'a' cannot stand in 'reduction'
#pragma omp parallel for reduction(+ : a)
  for (int i = 0; i < N; i++) a[i] = 0;
// error at 32: the distributed array 'a' cannot stand in 'map'
#pragma omp target map(tofrom: a)
  n = 1;
// error at 34: the distributed array 'v' stands here without all its subscripts
#pragma omp parallel num_threads(v[0] != 0)
  n = 1;
#pragma xmp loop on c(i)
#pragma omp parallel for
// error at 3: OpenMP and OpenACC cannot divide this loop once more: a cyclic distribution
  for (int i = 0; i < N; i++) n++;
#pragma omp parallel for
#pragma xmp loop on t(i)
// error at 3: OpenMP and OpenACC cannot divide this loop once more: it runs downwards
  for (int i = N - 1; i > 0; i--) a[i] = 0;
#pragma xmp loop on t(2*i)
#pragma omp parallel for
// error at 3: OpenMP and OpenACC cannot divide this loop once more: it becomes a condition in each iteration
  for (int i = 0; i < N / 2; i++) a[2 * i] = 0;
#pragma xmp loop (i, j) on u(j,i)
#pragma omp parallel for collapse(2)
  for (int i = 0; i < M; i++)
// error at 5: OpenMP and OpenACC cannot divide this loop once more: its bounds are known in the loop around it only
    for (int j = 0; j < last(1); j++) v[i][j] = 0;
#pragma xmp loop (i, j) on u(j,i)
#pragma omp parallel for
  for (int i = 0; i < M; i++)
    for (int j = 0; j < last(1); j++) v[i][j] = 0;
  return n;
}
