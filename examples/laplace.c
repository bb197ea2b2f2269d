// XcalableMP C, the global view: the sequential program with directives, which divide arrays and loops among the processes. A square plate with one
// hot edge, by Jacobi's method.
//
//     tasukicc -O2 laplace.c -o laplace -lm && mpirun -n 2 ./laplace
//     gcc -O2 laplace.c -o laplace -lm && ./laplace             the same program on one process
//
// The result is the same to the last digit on any number of processes; the exit code says whether it is.
#include <math.h>
#include <stdio.h>
#define N 256
#pragma xmp nodes p[*]
#pragma xmp template t[N]
#pragma xmp distribute t[block] onto p
double u[N][N], v[N][N];
#pragma xmp align u[i][*] with t[i]
#pragma xmp align v[i][*] with t[i]
#pragma xmp shadow u[1][0]

int main(void) {
  double change = 1;
#pragma xmp loop on t[i]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) u[i][j] = v[i][j] = i == 0;
  for (int step = 0; step < 100; step++) {
#pragma xmp reflect(u)
    change = 0;
#pragma xmp loop on t[i] reduction(max : change)
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) {
        v[i][j] = (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]) / 4;
        change = fmax(change, fabs(v[i][j] - u[i][j]));
      }
#pragma xmp loop on t[i]
    for (int i = 1; i < N - 1; i++)
      for (int j = 1; j < N - 1; j++) u[i][j] = v[i][j];
  }
#pragma xmp task on p[0]
  printf("change in the last step: %.10f\n", change);
  return fabs(change - 0.0024213908) < 1e-9 ? 0 : 1;
}
