// options: -O0; -O2 -std=c99 -pedantic-errors; -std=gnu11 -Wall -Wextra -Werror; -std=c2x
// arrays: 29
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef double row_t[4];
typedef row_t matrix_t[3];
typedef struct {
  int key;
  double value;
} pair_t;
enum { kSize = 5 };

dlm double a[2][3], (b)[3], *c[4], (*d[2])(double), ((e))[2][2];
static dlm int f[3];
dlm static int g[3];
static const dlm int h[3] = {1, 2, 3};
dlm const double *const *i[2];
const dlm volatile unsigned long long j[kSize];
unsigned dlm char k[sizeof(int) * 2];
long dlm long l[2];
dlm matrix_t m, n[2];
dlm row_t o;
dlm pair_t p[3];
dlm struct tag {
  int x[2];
} q[2];
struct {
  int y;
} dlm r[2];
union u {
  int i;
  float f;
} dlm s[3];
enum color { red, green } dlm t[2];
dlm char text[] = "cluster", fixed[3] = "abc", several[][6] = {"one", "two", "three"};
dlm int completed[];
dlm int completed[7];
dlm int once[1];
extern dlm int later[];
dlm int later[] = {1, 2, 3};
double dlm *pointers[3], values[2];
extern dlm int with_extern[2];
dlm int with_extern[2];
extern int ordinary[3];
int ordinary[3] = {7, 8, 9};

static double twice(double v) { return 2 * v; }

int main(void) {
  printf("%zu %zu %zu %zu %zu\n", sizeof a, sizeof b, sizeof c, sizeof d, sizeof e);
  printf("%zu %zu %zu %zu %zu %zu %zu\n", sizeof f, sizeof g, sizeof h, sizeof i, sizeof j, sizeof k, sizeof l);
  printf("%zu %zu %zu %zu %zu %zu %zu %zu\n", sizeof m, sizeof n, sizeof o, sizeof p, sizeof q, sizeof r, sizeof s, sizeof t);
  printf("%zu %zu %zu %zu %zu %zu\n", sizeof text, sizeof fixed, sizeof several, sizeof completed, sizeof later, sizeof pointers);
  printf("%zu %zu %zu\n", sizeof a[0], sizeof m[0], sizeof several[0]);
  d[1] = twice;
  c[3] = &a[1][2];
  a[1][2] = 1.5;
  *c[3] += 1;
  printf("%g %g %d\n", a[1][2], d[1](*c[3]), d[0] == NULL);
  for (size_t x = 0; x < sizeof m / sizeof m[0]; x++)
    for (size_t y = 0; y < sizeof m[0] / sizeof m[0][0]; y++) m[x][y] = (double)(10 * x + y);
  memcpy(n[1], m, sizeof m);
  printf("%g %g\n", n[1][2][3], n[0][2][3]);
  p[2].value = 3;
  p[2].key = h[2];
  q[1].x[1] = 4;
  (r + 1)->y = 5;
  s[2].f = 2.5f;
  t[1] = green;
  printf("%g %d %d %d %g %d\n", p[2].value, p[2].key, q[1].x[1], r[1].y, s[2].f, t[1]);
  printf("%s %.3s %s %s %s\n", text, fixed, several[0], several[1], several[2]);
  once[0] = 6;
  completed[6] = 7;
  pointers[1] = values;
  pointers[1][1] = 8;
  printf("%d %d %d %d %g %g\n", once[0], completed[6], later[2], with_extern[1], *pointers[1], values[1]);
  printf("%d %llu %d %d\n", ordinary[1], j[4], k[7], i[0] == NULL && l[1] == 0 && f[0] == g[0] && o[0] == 0 && b[1] == 0 && e[1][1] == 0);
  return 3;
}
