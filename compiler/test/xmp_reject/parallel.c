// options: -fopenmp
#include <xmp.h>
#define N 10
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template later(:)
#pragma xmp distribute later(block) onto p
double a[N], b[N], c[N];
#pragma xmp align a[i] with t(i)
#pragma xmp shadow a[1]
#pragma xmp align b[i] with t(i)
static void each(int n) {
  double s = 0;
#pragma omp parallel
  {
#pragma omp for
// error at 13: the nodes would reduce once for each thread of the parallel region of OpenMP
#pragma xmp loop on t(i) reduction(+ : s)
    for (int i = 0; i < N; i++) s += a[i];
// error at 13: the nodes would reduce once for each thread of the parallel region of OpenMP
#pragma xmp loop on t(i) reduction(+ : s)
#pragma omp for
    for (int i = 0; i < N; i++) s += a[i];
// error at 13: each thread of the parallel region of OpenMP would execute 'reduction'
#pragma xmp reduction(+ : s)
// error at 13: each thread of the parallel region of OpenMP would execute 'bcast'
#pragma xmp bcast(s)
    if (n > 0) {
// error at 13: each thread of the parallel region of OpenMP would execute 'gmove'
#pragma xmp gmove
      b[:] = c[:];
    }
// error at 13: each thread of the parallel region of OpenMP would execute 'reflect'
#pragma xmp reflect(a)
// error at 13: each thread of the parallel region of OpenMP would execute 'reduce_shadow'
#pragma xmp reduce_shadow(a)
// error at 13: each thread of the parallel region of OpenMP would execute 'barrier'
#pragma xmp barrier
// error at 13: each thread of the parallel region of OpenMP would execute 'wait_async'
#pragma xmp wait_async(1)
// error at 13: each thread of the parallel region of OpenMP would execute 'template_fix'
#pragma xmp template_fix later(0 : n - 1)
// error at 13: each thread of the parallel region of OpenMP would execute 'task'
#pragma xmp task on p(1)
    n = 1;
    double own[N];
// error at 13: each thread of the parallel region of OpenMP would execute 'align'
#pragma xmp align own[i] with t(i)
#pragma omp task
// error at 13: each thread of the parallel region of OpenMP would execute 'barrier'
#pragma xmp barrier
  }
#pragma omp parallel num_threads(2)
// error at 13: each thread of the parallel region of OpenMP would execute 'barrier'
#pragma xmp barrier
#pragma omp parallel for ordered
  for (int i = 0; i < N; i++) {
// error at 13: each thread of the parallel region of OpenMP would execute 'barrier'
#pragma xmp barrier
#pragma omp ordered
    n++;
  }
#pragma xmp loop on t(i)
#pragma omp parallel for
  for (int i = 0; i < N; i++) {
// error at 13: the nodes would reduce once for each thread of the parallel region of OpenMP
#pragma xmp loop on t(j) reduction(+ : s)
    for (int j = 0; j < N; j++) s += a[j];
  }
#pragma omp parallel
#pragma omp single
  {
#pragma omp taskloop
    for (int i = 0; i < N; i++) {
// error at 13: each thread of the parallel region of OpenMP would execute 'barrier'
#pragma xmp barrier
    }
#pragma xmp barrier
#pragma omp parallel
    {
// error at 13: each thread of the parallel region of OpenMP would execute 'barrier'
#pragma xmp barrier
    }
  }
#pragma omp parallel
#pragma omp critical(turn)
#pragma xmp reduction(+ : s)
#pragma omp parallel sections
  {
#pragma xmp barrier
#pragma omp section
    n++;
  }
#pragma omp parallel master
  {
#pragma xmp barrier
  }
#pragma xmp barrier
}
int main(void) {
  each(N);
  return 0;
}
