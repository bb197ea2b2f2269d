// Distributed arrays in OpenACC's clauses and compute regions: what each node has of them.
// double: no
// needs: -acc
#include "check.h"
#define N 24
#define M 10
#pragma xmp nodes p(*)
#pragma xmp nodes q[*][1]
#pragma xmp template t[N]
#pragma xmp distribute t[block] onto p
#pragma xmp template g[N][M]
#pragma xmp distribute g[block][block] onto q
static float a[N][M], b[N];
static int field[N][M];
#pragma xmp align a[i][*] with t[i]
#pragma xmp align b[i] with t[i]
#pragma xmp align field[i][j] with g[i][j]
#pragma xmp shadow a[1:2][0]
#pragma xmp shadow field[1][1]
static double *open;
#pragma xmp align open[i] with t[i]

static void scale(float x[N][M], float by) {
#pragma xmp align x[i][*] with t[i]
#pragma xmp shadow x[1:2][0]
#pragma xmp loop on t[i]
#pragma acc parallel loop present(x) collapse(2)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) x[i][j] *= by;
}

int main(void) {
  double sum = 0.5;
#pragma xmp loop on t[i]
  for (int i = 0; i < N; i++) {
    b[i] = i;
    for (int j = 0; j < M; j++) a[i][j] = 1;
  }
#pragma acc data copy(a) copyin(b)
  {
#pragma acc parallel loop gang default(none)
#pragma xmp loop on t[i]
    for (int i = 0; i < N; i++)
#pragma acc loop vector
      for (int j = 0; j < M; j++) a[i][j] += b[i] * j;
    scale(a, 2);
#pragma acc update self(a)
#pragma xmp loop on t[i]
    for (int i = 0; i < N; i++)
      for (int j = 0; j < M; j++) CHECK(a[i][j] == 2 + 2 * i * j);
    if (sum > 0) {
#pragma acc update device(a) if (sum > 0)
    }
#pragma xmp loop on t[i] reduction(+:sum)
#pragma acc parallel loop reduction(+:sum) present(a, b)
    for (int i = 0; i < N; i++) {
      float row = 0;
#pragma acc loop seq
      for (int j = 0; j < M; j++) row += a[i][j];
      sum += row - 2 * M;
    }
  }
  CHECK(sum == 0.5 + (N - 1) * N / 2 * M * (M - 1));
  open = xmp_malloc(xmp_desc_of(open), N);
#pragma acc enter data create(open) copyin(field)
#pragma xmp loop on t[i]
#pragma acc kernels loop present(open)
  for (int i = 0; i < N; i++) open[i] = -i;
#pragma xmp loop (i, j) on g[i][j]
#pragma acc serial loop
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) field[i][j] = i * M + j;
#pragma acc exit data copyout(open, field)
#pragma xmp loop on t[i]
  for (int i = 0; i < N; i++) CHECK(open[i] == -i);
#pragma xmp loop (i, j) on g[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) CHECK(field[i][j] == i * M + j);
  float local[N];
#pragma xmp align local[i] with t[i]
#pragma xmp loop on t[i]
#pragma acc parallel loop
  for (int i = 0; i < N; i++) local[i] = b[i] + 1;
#pragma xmp loop on t[i]
  for (int i = 0; i < N; i++) CHECK(local[i] == i + 1);
  return 0;
}
