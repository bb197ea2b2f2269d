// What else a C program has stays as it is.
// options: -O2; -std=gnu99; -O1 -fopenmp
#include "check.h"
#include <math.h>
#include <stdint.h>
#define SECTION(x, n) x[0:n]
#define REMOTE(x, i) x:[i]
#define COARRAY(type, name) type name:[*]
COARRAY(int, a[6]);
int t:[*];
struct bits { unsigned x : 3, : 2, y; };
enum { A, B };
static int pick(int c, int *x, int *y) { return c ? x[c ? 0 : 1] : *(y ?: 1 ? y : x); }
static int add(int x) {
  int out;
  __asm__("movl %[in], %[out]\n\taddl $1, %[out]" : [out] "=&r"(out) : [in] "r"(x));
  return out;
}
static int labels(int n) {
  switch (n) {
    case 1: { int a[2] = {1, 2}; return a[0]; }
    case 2 ... 4: goto more;
    default: return 0;
  }
more: return 7;
}
int main(void) {
  const int r = RIGHT;
  struct bits bits = {.x = 5, .y = 1};
  int x[6] = {[0] = 1, [1 ... 3] = 4}, y[2] = {8, 9};
  SECTION(a, 6) = SECTION(x, 6);
  REMOTE(t, r) = 3;
  xmp_sync_all(NULL);
  CHECK(a[2] == 4 && REMOTE(a[0], ME) == 1 && REMOTE(t, r) == 3);
  CHECK(pick(1, x, y) == 1 && pick(0, x, y) == 8 && add(3) == 4 && labels(1) == 1 && labels(3) == 7 && bits.x == 5);
  int sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < 6; i++) sum += a[i];
  CHECK(sum == 1 + 3 * 4);
  {
    int a[2] = {5, 6}, t = 1;
    CHECK(a[t] == 6);
    x[0:2] = a[0:2];
  }
  CHECK(x[1] == 6);
  a[0:
    2] =
    // a comment
    x[0
      :2]
    + 1;
  CHECK(a[1] == 7 && __LINE__ == 52);
  xmp_sync_all(NULL);
  return 0;
}
