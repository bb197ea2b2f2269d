// options: -O0; -O2; -O3 -march=native; -g -O2
// arrays: 3
#include <stdio.h>
#define N 256
dlm double a[N][N], x[N], y[N];

main(int argc, char* argv[]) {
  int i, j;
  double temp;
  for (i = 0; i < N; i++)
    for (j = 0; j < N; j++) a[i][j] = i;
  for (i = 0; i < N; i++) x[i] = i;
  for (i = 0; i < N; i++) {
    temp = 0;
    for (j = 0; j < N; j++) temp += a[i][j] * x[j];
    y[i] = temp;
  }
  for (i = 0; i < N; i += 37) printf("%d %.1f\n", i, y[i]);
  printf("%zu %zu %zu\n", sizeof a, sizeof a[0], sizeof(x) / sizeof(x[0]));
  printf("%d\n", argc + (argv[0] == 0));
  return 0;
}
