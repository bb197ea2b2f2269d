// options: -O2 -mavx2 -fopenmp; -O0 -mavx512f -fopenmp
// arrays: 3
// Headers that are full of what only their own compiler has.
#include <arpa/inet.h>
#include <complex.h>
#include <ctype.h>
#include <errno.h>
#include <fenv.h>
#include <fcntl.h>
#include <immintrin.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <mpi.h>
#include <netdb.h>
#include <omp.h>
#include <pthread.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <tgmath.h>
#include <threads.h>
#include <time.h>
#include <uchar.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>
#include <x86intrin.h>

dlm double x[1024], y[1024];
dlm alignas(32) float z[64];

int main(void) {
  for (int i = 0; i < 1024; i++) x[i] = i, y[i] = sin(x[i] / 1024);
  __m256d s = _mm256_setzero_pd();
  for (int i = 0; i < 1024; i += 4) s = _mm256_add_pd(s, _mm256_mul_pd(_mm256_loadu_pd(&x[i]), _mm256_loadu_pd(y + i)));
  double parts[4];
  _mm256_storeu_pd(parts, s);
  _mm256_store_ps(z, _mm256_set1_ps(1.5f));
  printf("%.6g %g %d\n", parts[0] + parts[1] + parts[2] + parts[3], fmax(z[3], pow(z[1], 2)), omp_get_max_threads() > 0);
  printf("%d %g\n", isnan(x[1]) || isinf(y[2]), floor(x[3] + 0.5));
  if (errno != 0 && signbit(x[4])) return (int)MPI_SUCCESS + 1;
  assert_is_no_macro: return 0;
}
