// bcast and reduction of parameters that are declared as arrays: the arrays, not the pointers that they are passed by.
// double: no
#include "check.h"
typedef int ten[10];
#pragma xmp nodes p(*)

static void first(int a[10]) {
#pragma xmp bcast (a)
}
static void sized(int n, const char* what, int a[restrict n + 1][2]) {
  CHECK(what[0] == 's');
#pragma xmp reduction (+:a)
}
static void named(ten a) {
#pragma xmp reduction (max:(a))
}
static void both(int a[static 4], double b[2][2], int* one) {
#pragma xmp bcast (a, b, *one, one[1]) from p(1)
}
static void divided(int a[3]) {
#pragma xmp loop on p(i) reduction(+:a)
  for (int i = 1; i <= xmp_num_nodes(); i++)
    for (int k = 0; k < 3; k++) a[k] += i * k;
}

int main(void) {
  int a[10], b[4][2], one[2], me = xmp_node_num(), all = xmp_num_nodes();
  double d[2][2];
  for (int i = 0; i < 10; i++) a[i] = 100 * me + i;
  first(a);
  for (int i = 0; i < 10; i++) CHECK(a[i] == 100 + i);
  for (int i = 0; i < 8; i++) b[i / 2][i % 2] = me + i;
  sized(3, "sum", b);
  for (int i = 0; i < 8; i++) CHECK(b[i / 2][i % 2] == all * (all + 1) / 2 + i * all);
  for (int i = 0; i < 10; i++) a[i] = 100 * me + i;
  named(a);
  for (int i = 0; i < 10; i++) CHECK(a[i] == 100 * all + i);
  for (int i = 0; i < 4; i++) a[i] = me, d[i / 2][i % 2] = me + .5;
  a[4] = me + 7;
  one[0] = me, one[1] = 2 * me;
  both(a, d, one);
  for (int i = 0; i < 4; i++) CHECK(a[i] == 1 && d[i / 2][i % 2] == 1.5);
  CHECK(a[4] == me + 7 && one[0] == 1 && one[1] == 2);
  a[0] = a[1] = a[2] = 5;
  divided(a);
  for (int k = 0; k < 3; k++) CHECK(a[k] == 5 + k * all * (all + 1) / 2);
  return 0;
}
