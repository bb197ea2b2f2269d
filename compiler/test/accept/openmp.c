// options: -O2 -fopenmp; -O0; -O2 -fopenmp-simd
// arrays: 4
#include <stdio.h>
#define N 1000
dlm double a[N], b[N];
dlm int counts[4];
dlm unsigned char flags[N];
static int limit = 3;

int main(void) {
  double sum = 0;
#pragma omp parallel for default(none) shared(a, b)
  for (int i = 0; i < N; i++) a[i] = i, b[i] = 2;
#pragma omp parallel for reduction(+ : sum) if (a[1] > 0) schedule(static, (int)a[5])
  for (int i = 0; i < N; i++) sum += a[i] * b[i];
#pragma omp simd aligned(a, b : 64) safelen(8)
  for (int i = 0; i < N; i++) a[i] += b[i];
#pragma omp parallel num_threads(limit)
  {
#pragma omp single
    for (int i = 0; i < 4; i++) {
#pragma omp task depend(inout : counts[i]) firstprivate(i)
      counts[i] += i;
#pragma omp task depend(in : counts[i]) shared(counts)
      {
#pragma omp atomic
        counts[0] += counts[i] > 0 ? 0 : 0;
      }
    }
#pragma omp taskwait
#pragma omp for
    for (int i = 0; i < N; i++) {
      int a = i % 2;  // another a
#pragma omp critical(flags)
      flags[i] = (unsigned char)a;
#pragma omp flush(b)
    }
  }
  {
    int a = 7, total = 0;
#pragma omp parallel for firstprivate(a) reduction(+ : total)
    for (int i = 0; i < 10; i++) total += a;
    printf("%d\n", total);
  }
  int odd = 0;
  for (int i = 0; i < N; i++) odd += flags[i];
  printf("%g %g %d %d %d\n", sum, a[10], counts[3], counts[0], odd);
  return 0;
}
