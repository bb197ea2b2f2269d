// options: -O0; -O2; -std=c99
// arrays: 11 10
// Static dlm arrays in functions.
#include <stdio.h>
#include <string.h>

dlm int a[3] = {1, 2, 3};

static int* counters(int which) {
  static dlm int a[4] = {[1] = 5}, b[2];
  static int calls;
  calls++;
  b[calls % 2]++;
  a[which] += a[which] + b[0] + 10 * b[1];
  return a;
}

static int nested(int depth) {
  int before = a[0];
  dlm static long a[2];
  a[depth % 2] += depth;
  {
    static dlm char a[3] = "xy";
    a[0]++;
    if (depth > 0) return nested(depth - 1) + a[0] + before;
  }
  return (int)(a[0] * 100 + a[1]);
}

static int jumps(int where) {
  if (where == 0) goto behind;
  static dlm int t[3] = {7, 8, 9};
  t[0]++;
behind:
  switch (where) {
    static dlm unsigned char u[300];
    case 1:
      u[299] = 3;
      return t[0];
    case 2:
      return u[299] + t[1];
    default:
      return t[2] + u[0];
  }
}

static int local_type(int i) {
  enum { kLocal = 6 };
  struct pair {
    int x, y;
  };
  typedef struct pair pair_t;
  static dlm pair_t p[kLocal] = {{1, 2}, {3, 4}};
  extern int elsewhere(int);
  p[5].x = i;
  return p[1].y * 10 + p[5].x + (int)(sizeof p / sizeof p[0]) * 100 + elsewhere(i);
}
int elsewhere(int i) { return a[i]; }

static double block_extern(void) {
  extern dlm double outside[4];
  return outside[2] + sizeof outside;
}
dlm double outside[4] = {1, 2, 3};

static inline __attribute__((always_inline)) int in_line(void) {
  static dlm int once[2];
  return ++once[1];
}
__attribute__((unused)) static int never_called(void) {
  static dlm int unused[3];
  return unused[0];
}

int main(void) {
  printf("%d ", counters(1)[1]);
  printf("%d %d\n", counters(1)[1], counters(3)[3]);
  printf("%d ", nested(5));
  printf("%d %d\n", nested(3), a[0]);
  printf("%d %d %d\n", jumps(0), jumps(1), jumps(2));
  printf("%d %g\n", local_type(2), block_extern());
  printf("%d ", in_line());
  printf("%d\n", in_line());
  return 0;
}
