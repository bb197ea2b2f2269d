/* A matrix in the memory of the cluster: y = A x, by one process that knows nothing of it. `dlm` is all that makes this
 * different from an ordinary C program (and `tasukicc` where it is compiled):
 *
 *     tasukicc -O2 examples/matvec.c -o matvec           2 GiB; with -DN=65536 32 GiB
 *     mpirun -n 4 ./matvec                               rank 0 computes, ranks 1..3 lend their memory
 *     mpirun -n 4 ./matvec 3 -- --stats                  three products; behind "--" stands what is for the cluster's memory
 *
 * The idea is figure 2 of Midorikawa et al., "A Fast and Portable Virtual Memory System Utilizing Memory Resource of a
 * Cluster". */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#define N 16384
#endif

dlm double a[N][N], x[N], y[N];

/* Small numbers, so that every sum is exact and can be checked. */
static double entry(long i, long j) {
  return (double)((i * 7 + j * 3) % 11 - 5);
}

static void multiply(void) {
  for (long i = 0; i < N; i++) {
    double sum = 0;
    for (long j = 0; j < N; j++) sum += a[i][j] * x[j];
    y[i] = sum;
  }
}

/* Row i again, without the arrays. */
static double expected(long i) {
  double sum = 0;
  for (long j = 0; j < N; j++) sum += entry(i, j) * (double)(j % 4 + 1);
  return sum;
}

int main(int argc, char** argv) {
  const int products = argc > 1 ? atoi(argv[1]) : 1;
  for (long i = 0; i < N; i++) {
    for (long j = 0; j < N; j++) a[i][j] = entry(i, j);
    x[i] = (double)(i % 4 + 1);
  }
  for (int n = 0; n < products; n++) multiply();

  long wrong = 0;
  for (long i = 0; products > 0 && i < N; i += N / 64 + 1) wrong += y[i] != expected(i);
  printf("%d x %d, %.1f MiB: %s\n", N, N, (double)sizeof a / (1 << 20), wrong == 0 ? "correct" : "WRONG");
  return wrong != 0;
}
