// Sections, and copies between them: shapes, strides, overlaps, broadcasts; here and in other images.
#include "check.h"
#define N 12
int a[N]:[*], m[4][6]:[*], cube[3][4][5]:[*];
struct particle { double x[3]; int id; } ps[6]:[*];
double d[N]:[*];
static int calls;
static int count(int n) { calls++; return n; }
static void fill(int *p, int n, int from) { for (int i = 0; i < n; i++) p[i] = from + i; }
static int is(const int *p, int n, ...) {
  __builtin_va_list rest;
  __builtin_va_start(rest, n);
  int good = 1;
  for (int i = 0; i < n; i++) good = good && p[i] == __builtin_va_arg(rest, int);
  __builtin_va_end(rest);
  return good;
}
int main(void) {
  const int r = RIGHT;
  int b[N], c[N], grid[4][6], x = 3, *p = b;
  fill(b, N, 0);
  a[:]:[r] = b[:];
  c[:] = a[:]:[r];
  CHECK(memcmp(b, c, sizeof b) == 0);
  c[0:3] = b[9:];
  CHECK(is(c, 4, 9, 10, 11, 3));
  c[:4] = b[4:4];
  CHECK(is(c, 5, 4, 5, 6, 7, 4));
  c[0:6:2] = b[1:6:2];
  CHECK(is(c, 5, 1, 5, 3, 7, 5));
  c[::3] = 100;
  CHECK(is(c, 7, 100, 5, 3, 100, 5, 5, 100) && c[9] == 100 && c[11] == 11);
  c[:] = b[11::-1];
  CHECK(c[0] == 11 && c[11] == 0);
  c[3:3:-1] = b[0:3];
  CHECK(is(c, 4, 11, 2, 1, 0));
  c[0:2] = b[10:2:-4];
  CHECK(c[0] == 10 && c[1] == 6);
  // As if all of the right side were read first.
  fill(b, N, 0);
  b[1:11] = b[0:11];
  CHECK(is(b, 5, 0, 0, 1, 2, 3) && b[11] == 10);
  fill(b, N, 0);
  b[0:11] = b[1:11];
  CHECK(is(b, 5, 1, 2, 3, 4, 5) && b[11] == 11);
  fill(b, N, 0);
  b[:] = b[11::-1];
  CHECK(is(b, 5, 11, 10, 9, 8, 7));
  b[0:3] = b[0];
  CHECK(is(b, 4, 11, 11, 11, 8));
  b[0:3] = x++ + b[3];
  CHECK(x == 4 && is(b, 3, 11, 11, 11));
  // Other images: strided both ways, and between two of them.
  fill(b, N, 0);
  a[:]:[r] = 0;
  a[0:4:3]:[r] = b[8:4:-2];
  CHECK(a[0]:[r] == 8 && a[3]:[r] == 6 && a[9]:[r] == 2 && a[1]:[r] == 0);
  c[2:3] = a[9:3:-3]:[r];
  CHECK(is(c + 2, 3, 2, 4, 6));
  a[1:2]:[r] = a[0:2:3]:[r];
  CHECK(a[1]:[r] == 8 && a[2]:[r] == 6);
  a[4:3]:[r] = 5;
  CHECK(a[4]:[r] == 5 && a[6]:[r] == 5 && a[7]:[r] == 0);
  p[2:3] = a[4:3]:[r];
  CHECK(is(b, 6, 0, 1, 5, 5, 5, 5));
  // More dimensions, and shapes that differ.
  for (int i = 0; i < 4; i++) fill(grid[i], 6, 10 * i);
  m[:][:]:[r] = grid[:][:];
  CHECK(m[3][5]:[r] == 35 && m[1][0]:[r] == 10);
  c[0:6] = m[2][:]:[r];
  CHECK(is(c, 6, 20, 21, 22, 23, 24, 25));
  c[0:4] = m[:][1]:[r];
  CHECK(is(c, 4, 1, 11, 21, 31));
  c[0:6] = m[1:2][0:3:2]:[r];
  CHECK(is(c, 6, 10, 12, 14, 20, 22, 24));
  m[0:2][3:3]:[r] = c[0:6];
  CHECK(m[0][3]:[r] == 10 && m[1][3]:[r] == 20);
  grid[0][0:6] = m[0:3][4:2]:[r];
  CHECK(grid[0][0] == 12 && grid[0][5] == 25);
  cube[1][0:2][0:3:2]:[r] = m[2:2][0:3]:[r];
  CHECK(cube[1][0][0]:[r] == 20 && cube[1][0][2]:[r] == 21 && cube[1][1][4]:[r] == 32);
  // Members.
  ps[:].id:[r] = 7;
  ps[0:3].x[1]:[r] = 1.5;
  ps[4].x[:]:[r] = ps[0].x[:]:[r];
  CHECK(ps[5].id:[r] == 7 && ps[2]:[r].x[1] == 1.5 && ps[4].x[1]:[r] == 1.5 && ps[3].x[1]:[r] == 0);
  struct particle mine[6], one = {{1, 2, 3}, 4};
  mine[:] = ps[:]:[r];
  CHECK(mine[5].id == 7 && mine[4].x[1] == 1.5);
  ps[1:2]:[r] = one;
  CHECK(ps[2]:[r].x[2] == 3 && ps[0]:[r].id == 7);
  // Conversions.
  d[:]:[r] = b[:];
  CHECK(d[2]:[r] == 5.0);
  d[0]:[r] = 2.75;
  c[0:3] = d[0:3]:[r];
  CHECK(is(c, 3, 2, 1, 5));
  d[0:2]:[r] = 1;
  CHECK(d[1]:[r] == 1.0);
  // Parts are computed once; statements of all kinds.
  calls = 0;
  c[count(1):count(2):count(1)] = a[count(0):count(2)]:[count(r)];
  CHECK(calls == 6 && is(c + 1, 2, 8, 8));
  if (x) c[0:2] = 1;
  else c[0:2] = 2;
  for (int i = 0; i < 3; i++) c[i:2] = i;
  CHECK(is(c, 4, 0, 1, 2, 2));
  switch (x) {
    case 4: c[0:2] = 9; break;
    default: c[0:2] = 8;
  }
  CHECK(c[0] == 9);
  goto end;
end: c[0:2] = 4;
  const int n = x;
  int vla[n][n + 1];
  vla[:][:] = 6;
  vla[1][0:n] = c[0:n];
  CHECK(vla[0][n] == 6 && vla[1][0] == 4 && vla[3][0] == 6);
  xmp_sync_all(NULL);
  return 0;
}
