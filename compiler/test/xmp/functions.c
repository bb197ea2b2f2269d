// The built-in elemental functions (section 7.7), with sections of this image and of others as arguments.
#include "check.h"
#include <math.h>
#define N 6
double x[N]:[*], y[N]:[*], z[3][4]:[*];
float xf[N]:[*], yf[N]:[*];
long double xl[N]:[*], yl[N]:[*];
int powers[N]:[*];
double in[N], out[N];
float inf_[N], outf[N];
long double inl[N], outl[N];
static int right;
static int near(long double a, long double b) { return fabsl(a - b) <= 1e-6L * (1 + fabsl(b)); }
// Each function in its three types: from here to here, from the right image to here, from here to the right image.
#define EACH(fn, at) \
  out[:] = fn(in[:]); \
  outf[:] = fn##f(inf_[:]); \
  outl[:] = fn##l(inl[:]); \
  for (int i = 0; i < N; i++) \
    CHECK(out[i] == fn(in[i]) && near(outf[i], fn(in[i])) && near(outl[i], fn(in[i]))); \
  out[1:N - 1] = 1 + fn(x[0:N - 1]:[right]); \
  outf[1:N - 1] = 1 + fn##f(xf[0:N - 1]:[right]); \
  outl[1:N - 1] = 1 + fn##l(xl[0:N - 1]:[right]); \
  for (int i = 1; i < N; i++) \
    CHECK(out[i] == 1 + fn(in[i - 1]) && near(outf[i], out[i]) && near(outl[i], out[i])); \
  y[::2]:[right] = fn(in[N - 1:3:-2]); \
  yf[:]:[right] = fn##f(xf[:]:[right] / 2); \
  yl[at]:[right] = fn##l(inl[at]); \
  CHECK(y[2]:[right] == fn(in[3]) && near(yf[4]:[right], fn(in[4] / 2)) && near(yl[at]:[right], fn(in[at])));
#define PAIR(fn, second) \
  out[:] = fn(in[:], second); \
  outf[:] = fn##f(inf_[:], second); \
  outl[:] = fn##l(inl[:], second); \
  CHECK(out[3] == fn(in[3], second) && near(outf[3], out[3]) && near(outl[3], out[3])); \
  out[:] = fn(x[:]:[right], y[:]:[right]); \
  outf[0:3] = fn##f(second, xf[3:3]:[right]); \
  yl[:]:[right] = fn##l(xl[:]:[right], inl[N - 1:N:-1]); \
  CHECK(out[2] == fn(in[2], y[2]:[right]) && near(outf[1], fn(second, in[4])) && near(yl[0]:[right], fn(in[0], in[5])));
int main(void) {
  int exponents[N], n = 3;
  right = RIGHT;
  for (int i = 0; i < N; i++) in[i] = inf_[i] = inl[i] = .125 + .125 * i;
  x[:]:[right] = in[:];
  xf[:]:[right] = inf_[:];
  xl[:]:[right] = inl[:];
  y[:]:[right] = in[:] * 8;
  xmp_sync_all(NULL);
  EACH(acos, 1)
  EACH(asin, 2)
  EACH(atan, 3)
  EACH(cos, 4)
  EACH(sin, 5)
  EACH(tan, 0)
  EACH(cosh, 1)
  EACH(sinh, 2)
  EACH(tanh, 3)
  EACH(exp, 4)
  EACH(log, 5)
  EACH(log10, 0)
  EACH(fabs, 1)
  EACH(sqrt, 2)
  EACH(ceil, 3)
  EACH(floor, 4)
  y[:]:[right] = in[:] * 8;
  PAIR(atan2, n)
  PAIR(pow, 1.5)
  PAIR(fmod, n / 8.)
  // frexp has two results, of which one goes to where its second argument points.
  out[:] = frexp(in[:], &exponents[:]);
  for (int i = 0; i < N; i++) CHECK(ldexp(out[i], exponents[i]) == in[i] && out[i] == frexp(in[i], &n) && n == exponents[i]);
  outf[0:3] = frexpf(xf[3:3]:[right], &exponents[N - 1:3:-2]);
  CHECK(outf[0] == .5 && exponents[5] == 0 && exponents[1] == 0);
  y[:]:[right] = frexp(4 * x[:]:[right], &powers[:]:[right]);
  CHECK(y[0]:[right] == .5 && powers[0]:[right] == 0 && powers[1]:[right] == 1 && powers[5]:[right] == 2);
  exponents[:] = 7;
  outl[:] = frexpl(inl[:], &exponents[2]);
  CHECK(exponents[2] == 0 && exponents[1] == 7);
  out[:] = ldexp(x[:]:[right], powers[:]:[right]) + ldexp(in[:], 2);
  CHECK(out[0] == .125 + .5 && out[5] == .75 * 4 + 3);
  yf[:]:[right] = ldexpf(inf_[:], exponents[:]);
  outl[:] = ldexpl(xl[:]:[right], exponents[2]);
  CHECK(yf[1]:[right] == 32 && outl[5] == .75);
  // In more than one dimension, and functions in functions.
  z[:][:]:[right] = 2;
  z[1:2][0:3]:[right] = sqrt(z[0:2][1:3]:[right] + pow(z[1:2][:3]:[right], fabs(-1.)));
  CHECK(z[2][2]:[right] == 2 && z[1][3]:[right] == 2 && z[0][0]:[right] == 2);
  xmp_sync_all(NULL);
  return 0;
}
