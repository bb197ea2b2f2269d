// options: -O2
// arrays: 1
#include <dlm.h>
#include <stdio.h>
#include <stdlib.h>
dlm double a[100];
int main(int argc, char** argv) {
  dlm_startup(&argc, &argv);
  a[99] = 1;
  printf("%d %g %d\n", argc, a[99], a[98] == 0);
  exit(7);
}
