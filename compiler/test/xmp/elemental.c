// Arithmetic on sections, element by element.
#include "check.h"
#include <math.h>
#define N 8
int a[N]:[*], t:[*];
double d[N]:[*], m[3][4]:[*];
static int calls;
static int count(int n) { calls++; return n; }
static double half(double x) { return x / 2; }
typedef double real;
int main(void) {
  const int r = RIGHT;
  int b[N], c[N], n = N;
  double e[N], f[3][4];
  for (int i = 0; i < N; i++) b[i] = i, c[i] = 10 * i, e[i] = i + .5;
  a[:]:[r] = b[:] * 2 + c[:];
  for (int i = 0; i < N; i++) CHECK(a[i]:[r] == 12 * i);
  b[0:n] = a[0:n]:[r] / 2 - c[n - 1:n:-1];
  for (int i = 0; i < N; i++) CHECK(b[i] == 6 * i - 10 * (N - 1 - i));
  for (int i = 0; i < N; i++) b[i] = i;
  b[1:n - 1] = b[0:n - 1] + 1;
  for (int i = 1; i < N; i++) CHECK(b[i] == i);
  b[0:n - 1] = b[1:n - 1] + b[0:n - 1];
  for (int i = 0; i < N - 1; i++) CHECK(b[i] == 2 * i + 1);
  for (int i = 0; i < N; i++) b[i] = i + 1;
  b[:] = b[:] * b[0] + b[1];
  for (int i = 0; i < N; i++) CHECK(b[i] == i + 3);
  // A scalar is one value.
  calls = 0;
  t:[r] = 3;
  c[:] = b[:] * count(2) + t:[r] + count(1);
  CHECK(calls == 2 && c[0] == 10 && c[7] == 24);
  c[count(0):count(4)] = b[count(2):count(4)] << count(1);
  CHECK(calls == 7 && c[0] == 10 && c[3] == 16 && c[4] == 18);
  c[0:4] += b[0:4];
  CHECK(c[0] == 13 && c[3] == 22);
  c[0:2] *= 2;
  a[0:4]:[r] -= b[0:4];
  CHECK(c[1] == 32 && a[0]:[r] == -3 && a[1]:[r] == 8);
  // Types, casts, functions, conditions.
  e[:] = half(e[:]) + sqrt(4.0) * (real)b[:] / 4;
  CHECK(e[0] == .25 + 1.5 && e[7] == 3.75 + 5);
  d[:]:[r] = e[:] > 3 ? e[:] : -e[:];
  CHECK(d[0]:[r] == -1.75 && d[7]:[r] == 8.75);
  c[:] = !(b[:] > 4 && b[:] < 8) ? ~b[:] : sizeof(int) + (b[:] % 3);
  CHECK(c[0] == ~3 && c[2] == 6 && c[5] == ~8);
  c[:] = (unsigned char)(b[:] * 100) | 1;
  CHECK(c[0] == ((300 & 255) | 1));
  m[:][:]:[r] = 2;
  f[:][:] = m[:][:]:[r] * 3;
  f[1:2][0:2] = f[0:2][2:2] - f[1][1] + m[0:2][0:2]:[r];
  CHECK(f[0][0] == 6 && f[2][1] == 2 && f[1][2] == 6);
  double *p = e;
  p[0:3] = 2.0 * d[5:3:-1]:[r];
  CHECK(e[0] == 2 * d[5]:[r] && e[2] == 2 * d[3]:[r]);
  e[:] = ({ int k = b[1]; k; }) + b[:];
  CHECK(e[0] == 7);
  xmp_sync_all(NULL);
  return 0;
}
