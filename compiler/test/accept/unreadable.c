// options: -O0; -O2 -std=gnu11
// arrays: 3
// Statements that libclang drops, because it does not have the extension: names in them are looked up.
#include <stdio.h>
typedef float lanes_t __attribute__((vector_size(16)));
dlm float lanes[4] __attribute__((vector_size(32))) = {{1, 2, 3}};
dlm int a[4] = {1, 2, 3, 4};
dlm double b[2] = {0.5};
struct a {
  int a;
};
static int f(int x, int y) { return x - y; }

int main(void) {
  struct a s = {.a = 7};
  int n = 2;
  if (lanes[0][1] > 1 && a[0] == 1) n += a[1];
  printf("%g %d %d %d\n", lanes[0][n - 2], s.a, f(a[2], a[3]), (int)sizeof a);
  {
    int a[1] = {50};
    printf("%g %d %g\n", lanes[0][1], a[0], b[0]);
  }
  n = lanes[0][2] > 0 ? a[1] : a[2];
  return lanes[0][0] + a[3] + b[0] > 5 ? n : 0;
}
