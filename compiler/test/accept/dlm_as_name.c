// options: -O0; -O2 -Wall
// plain: keep
// arrays: 2
// `dlm` where it is no specifier: the word stays free.
#include <stdio.h>
#ifdef PLAIN
#define SPECIFIER
#else
#define SPECIFIER dlm
#endif

struct dlm {
  int dlm;
};
enum { kOne = 1 };
SPECIFIER double a[3], b[2];
static struct dlm global = {.dlm = 3};
static int f(struct dlm* dlm) { return dlm->dlm; }
static int g(int dlm) { return dlm * kOne; }
static int old(dlm) int dlm;
{ return dlm + 1; }
static int product(int dlm, int p) {
  int q = 2;
  q = dlm * p;
  dlm* p;
  return q - dlm* p;
}
int with_attribute __attribute__((unused)), dlm __attribute__((unused)) = 4;

int main(void) {
  a[1] = 2;
  {
    int dlm = 5;
    dlm += dlm;
    a[2] += dlm;
  dlm:
    if (dlm++ < 12) goto dlm;
    printf("%d\n", dlm);
    int array[] = {[0] = dlm, dlm};
    __asm__("" : "=r"(dlm) : [dlm] "0"(array[1]));
    printf("%d %zu\n", dlm, sizeof dlm);
  }
  {
    typedef long dlm;
    dlm x = 3;
    dlm* p = &x;
    dlm(y) = 4;
    printf("%ld %ld\n", *p, y);
  }
  printf("%d %d %d %d %d %g %g\n", f(&global), g(4), old(5), product(3, 4), dlm, a[2], b[1]);
  return 0;
}
