// options: -O0; -O2; -O2 -std=gnu17 -D_FORTIFY_SOURCE=2
// arrays: 5
#include <complex.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <tgmath.h>

dlm double a[10], m[3][4];
dlm int n[5] = {[2] = 7, [4] = 9};
dlm double complex z[2];
dlm char buffer[64];

struct holder {
  double array[sizeof a / sizeof a[0]];
  int bits : sizeof n / sizeof n[0];
  char name[sizeof "abc"];
};
_Static_assert(sizeof a == 80 && sizeof m[1] == 32, "sizes are constants");
enum { kCount = sizeof n / sizeof *n };
extern int aligned_by_use __attribute__((aligned(sizeof a[0])));
int aligned_by_use = 3;
static size_t size = sizeof m;
static ptrdiff_t bytes_of[] = {sizeof a, sizeof(m), sizeof n[0]};
static double bounds[sizeof m[0] / sizeof m[0][0]][kCount];

static double sum(int count, const double* v) {
  double s = 0;
  for (int i = 0; i < count; i++) s += v[i];
  return s;
}
static double sum_rows(double (*rows)[4], int count) { return sum(4 * count, rows[0]); }
static size_t by_type(double (*whole)[sizeof a / sizeof a[0]]) { return sizeof *whole; }
static double variadic(int count, ...) {
  va_list list;
  va_start(list, count);
  double s = 0;
  for (int i = 0; i < count; i++) s += va_arg(list, double*)[1];
  va_end(list);
  return s;
}
static inline double* element(int i) { return &a[i]; }
static int switch_on(size_t v) {
  switch (v) {
    case sizeof a:
      return 1;
    case sizeof n ... sizeof n + 3:
      return 2;
    default:
      return n[2];
  }
}

int main(int argc, char** argv, char** environment) {
  (void)argc, (void)argv, (void)environment;
  for (int i = 0; i < 10; i++) a[i] = i;
  for (int i = 0; i < 12; i++) m[i / 4][i % 4] = i, 1 [a] += 0;
  typeof(a) copy;
  typeof(&a) whole = &a;
  __auto_type first = a;
  memcpy(copy, a, sizeof a);
  (*whole)[3] = 33, copy[4] = 44;
  double* p = a + 2;
  double(*row)[4] = m + 1;
  printf("%g %g %g %td %td\n", a[3], copy[4], p[1], p - a, &a[9] - &a[2]);
  printf("%g %g %g %g\n", sum(10, a), sum_rows(m, 3), *(*(m + 2) + 3), (*row)[2]);
  printf("%zu %zu %d %d\n", by_type(&a), sizeof(typeof(a)), switch_on(80), switch_on(21) + switch_on(0));
  printf("%d %d %d\n", _Generic(a, double* : 1, default : 2), _Generic(&m, double(*)[3][4] : 1, default : 2),
         _Generic(n[0], int : (int)sizeof n, typeof(a[0]) : 5, double(*)[sizeof a] : 6));
  printf("%d %d %d\n", first == a, (void*)a == (void*)&a, (void*)&a[0] == (void*)*whole);
  printf("%zu %zu %zu\n", _Alignof(typeof(a)), offsetof(struct holder, array[sizeof a / 20]), sizeof(struct { char c[sizeof a]; }));
  printf("%d %d\n", __builtin_types_compatible_p(typeof(m), double[3][4]), __builtin_choose_expr(1, n[4], a));
  printf("%g %g\n", variadic(2, a, m[1]), *element(5));
  z[1] = 1 + 2 * I;
  printf("%g %g %g %g\n", creal(z[1] * z[1]), sqrt(a[4]), fabs(-a[5]), cimag(conj(z[1])));
  snprintf(buffer, sizeof buffer, "%d-%s", n[2], "text");
  strcat(buffer, "!");
  printf("%s %zu %zu\n", buffer, strlen(buffer), sizeof(struct holder));
  double vla[n[2]][kCount], *pointers[] = {a, m[0], &a[4], [4] = m[2] + 1};
  vla[6][4] = *pointers[4];
  printf("%zu %g %g %g\n", sizeof vla, vla[6][4], ((double[]){a[1], a[2], [5] = a[3]})[5], (double)a[1] + -a[2]);
  struct {
    double* a;
    double m;
  } s = {a, m[1][1]}, *q = &s;
  printf("%g %g %g %td %td\n", s.a[1], q->m, (q->a)[2], bytes_of[1], (ptrdiff_t)size);
  printf("%g %g %d\n", (a)[1], (1 ? a : m[0])[2], (a, 5));
  for (double* i = a; i < a + sizeof a / sizeof *a; i++) *i *= 2;
  __asm__ volatile("" : "+m"(a), "+m"(n[1]) : "r"(m));
  if (a && n[2]) printf("%d %g %g\n", !a, a[9], bounds[3][4]);
  while (n[4]-- > 7) printf("%d ", n[4]);
  do n[2]++;
  while (n[2] < 9);
  printf("%d %d %d\n", n[2], sizeof n == kCount * sizeof(int), aligned_by_use);
  return (int)a[1];
}
