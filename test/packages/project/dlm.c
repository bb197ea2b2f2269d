#include <dlm.h>
#include <stdio.h>
int main(int argc, char** argv) {
  dlm_startup(&argc, &argv);
  double* x = dlm_alloc(1000 * sizeof *x);
  for (int i = 0; i < 1000; i++) x[i] = i;
  printf("dlm: %g\n", x[999] + x[0]);
  dlm_free(x);
  return 0;
}
