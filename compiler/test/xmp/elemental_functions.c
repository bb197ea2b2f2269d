// The elemental functions of section 7.8 with sections as arguments, for each of the three types; of distributed arrays, too.
// double: no
#include "check.h"
#include <math.h>
#define N 6
#define M 17
#pragma xmp nodes p(*)
#pragma xmp template t(0:M-1)
#pragma xmp distribute t(cyclic(2)) onto p
static double wide[M], roots[M];
static int whole[M];
#pragma xmp align wide[i] with t(i)
#pragma xmp align roots[i] with t(i)
#pragma xmp align whole[i] with t(i)
double d[N]:[*];

// What the function of C gives for each element: `y` has it, `one` computes it.
#define SAME(y, one) \
  for (int i = 0; i < N; i++) CHECK((y)[i] == (one))

static void doubles(void) {
  double x[N], y[N], u[N];
  int e[N];
  for (int i = 0; i < N; i++) x[i] = (i - 2.5) / 4, u[i] = i + .5, e[i] = i - 2;
  y[:] = acos(x[:]);
  SAME(y, acos(x[i]));
  y[:] = asin(x[:]);
  SAME(y, asin(x[i]));
  y[:] = atan(x[:]);
  SAME(y, atan(x[i]));
  y[:] = cos(x[:]);
  SAME(y, cos(x[i]));
  y[:] = sin(x[:]);
  SAME(y, sin(x[i]));
  y[:] = tan(x[:]);
  SAME(y, tan(x[i]));
  y[:] = cosh(x[:]);
  SAME(y, cosh(x[i]));
  y[:] = sinh(x[:]);
  SAME(y, sinh(x[i]));
  y[:] = tanh(x[:]);
  SAME(y, tanh(x[i]));
  y[:] = exp(x[:]);
  SAME(y, exp(x[i]));
  y[:] = fabs(x[:]);
  SAME(y, fabs(x[i]));
  y[:] = ceil(x[:]);
  SAME(y, ceil(x[i]));
  y[:] = floor(x[:]);
  SAME(y, floor(x[i]));
  y[:] = log(u[:]);
  SAME(y, log(u[i]));
  y[:] = log10(u[:]);
  SAME(y, log10(u[i]));
  y[:] = sqrt(u[:]);
  SAME(y, sqrt(u[i]));
  y[:] = atan2(x[:], u[:]);
  SAME(y, atan2(x[i], u[i]));
  y[:] = pow(u[:], x[:]);
  SAME(y, pow(u[i], x[i]));
  y[:] = pow(u[:], 2);
  SAME(y, pow(u[i], 2));
  y[:] = fmod(u[:], u[0]);
  SAME(y, fmod(u[i], u[0]));
  y[:] = ldexp(x[:], e[:]);
  SAME(y, ldexp(x[i], e[i]));
}

static void floats(void) {
  float x[N], y[N], u[N];
  int e[N];
  for (int i = 0; i < N; i++) x[i] = (i - 2.5F) / 4, u[i] = i + .5F, e[i] = i - 2;
  y[:] = acosf(x[:]);
  SAME(y, acosf(x[i]));
  y[:] = asinf(x[:]);
  SAME(y, asinf(x[i]));
  y[:] = atanf(x[:]);
  SAME(y, atanf(x[i]));
  y[:] = cosf(x[:]);
  SAME(y, cosf(x[i]));
  y[:] = sinf(x[:]);
  SAME(y, sinf(x[i]));
  y[:] = tanf(x[:]);
  SAME(y, tanf(x[i]));
  y[:] = coshf(x[:]);
  SAME(y, coshf(x[i]));
  y[:] = sinhf(x[:]);
  SAME(y, sinhf(x[i]));
  y[:] = tanhf(x[:]);
  SAME(y, tanhf(x[i]));
  y[:] = expf(x[:]);
  SAME(y, expf(x[i]));
  y[:] = fabsf(x[:]);
  SAME(y, fabsf(x[i]));
  y[:] = ceilf(x[:]);
  SAME(y, ceilf(x[i]));
  y[:] = floorf(x[:]);
  SAME(y, floorf(x[i]));
  y[:] = logf(u[:]);
  SAME(y, logf(u[i]));
  y[:] = log10f(u[:]);
  SAME(y, log10f(u[i]));
  y[:] = sqrtf(u[:]);
  SAME(y, sqrtf(u[i]));
  y[:] = atan2f(x[:], u[:]);
  SAME(y, atan2f(x[i], u[i]));
  y[:] = powf(u[:], x[:]);
  SAME(y, powf(u[i], x[i]));
  y[:] = powf(u[:], 2);
  SAME(y, powf(u[i], 2));
  y[:] = fmodf(u[:], u[0]);
  SAME(y, fmodf(u[i], u[0]));
  y[:] = ldexpf(x[:], e[:]);
  SAME(y, ldexpf(x[i], e[i]));
}

static void long_doubles(void) {
  long double x[N], y[N], u[N];
  int e[N];
  for (int i = 0; i < N; i++) x[i] = (i - 2.5L) / 4, u[i] = i + .5L, e[i] = i - 2;
  y[:] = acosl(x[:]);
  SAME(y, acosl(x[i]));
  y[:] = asinl(x[:]);
  SAME(y, asinl(x[i]));
  y[:] = atanl(x[:]);
  SAME(y, atanl(x[i]));
  y[:] = cosl(x[:]);
  SAME(y, cosl(x[i]));
  y[:] = sinl(x[:]);
  SAME(y, sinl(x[i]));
  y[:] = tanl(x[:]);
  SAME(y, tanl(x[i]));
  y[:] = coshl(x[:]);
  SAME(y, coshl(x[i]));
  y[:] = sinhl(x[:]);
  SAME(y, sinhl(x[i]));
  y[:] = tanhl(x[:]);
  SAME(y, tanhl(x[i]));
  y[:] = expl(x[:]);
  SAME(y, expl(x[i]));
  y[:] = fabsl(x[:]);
  SAME(y, fabsl(x[i]));
  y[:] = ceill(x[:]);
  SAME(y, ceill(x[i]));
  y[:] = floorl(x[:]);
  SAME(y, floorl(x[i]));
  y[:] = logl(u[:]);
  SAME(y, logl(u[i]));
  y[:] = log10l(u[:]);
  SAME(y, log10l(u[i]));
  y[:] = sqrtl(u[:]);
  SAME(y, sqrtl(u[i]));
  y[:] = atan2l(x[:], u[:]);
  SAME(y, atan2l(x[i], u[i]));
  y[:] = powl(u[:], x[:]);
  SAME(y, powl(u[i], x[i]));
  y[:] = powl(u[:], 2);
  SAME(y, powl(u[i], 2));
  y[:] = fmodl(u[:], u[0]);
  SAME(y, fmodl(u[i], u[0]));
  y[:] = ldexpl(x[:], e[:]);
  SAME(y, ldexpl(x[i], e[i]));
}

static void distributed(void) {
#pragma xmp loop on t(i)
  for (int i = 0; i < M; i++) wide[i] = i * i, whole[i] = i % 4;
#pragma xmp array on t(0:M-1)
  roots[0:M] = sqrt(wide[0:M]) + fabs(-wide[0:M]);
#pragma xmp loop on t(i)
  for (int i = 0; i < M; i++) CHECK(roots[i] == i + i * i);
#pragma xmp array on t(1:M-2:3)
  roots[1:5:3] = ldexp(wide[1:5:3], whole[1:5:3]);
#pragma xmp loop on t(i)
  for (int i = 0; i < M; i++) CHECK(roots[i] == (i % 3 == 1 && i <= M - 2 ? ldexp(i * i, i % 4) : i + i * i));
}

int main(void) {
  doubles();
  floats();
  long_doubles();
  distributed();
  double x[N];
  for (int i = 0; i < N; i++) x[i] = i;
  d[:]:[RIGHT] = sqrt(x[:]);
  xmp_sync_all(NULL);
  SAME(d, sqrt(i));
  xmp_sync_all(NULL);
  return 0;
}
