// gmove between distributed arrays, from and to local ones, of elements and values, with conversions of single ones; in and out; array.
// double: no
#include "check.h"
#define N 18
#define M 5
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template c(0:N-1)
#pragma xmp distribute c(cyclic) onto p
#pragma xmp template g(0:M-1,0:N-1)
#pragma xmp distribute g(*,block) onto p
static double a[N], b[N], d[N][M], e[N][M];
static float f[N];
#pragma xmp align a[i] with t(i)
#pragma xmp align b[i] with c(i)
#pragma xmp align d[i][j] with g(j,i)
#pragma xmp align e[i][*] with c(i)
#pragma xmp align f[i] with t(i)

static void fill(void) {
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) a[i] = i, f[i] = (float)i / 2;
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) {
    b[i] = -1;
    for (int j = 0; j < M; j++) e[i][j] = -1;
  }
#pragma xmp loop (i, j) on g(j,i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) d[i][j] = 10 * i + j;
}

static void moves(void) {
  double all[N], x = 0, part[3];
  int n = 0;
#pragma xmp gmove
  b[:] = a[:];
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) CHECK(b[i] == i);
#pragma xmp gmove
  all[:] = b[0:N];
  for (int i = 0; i < N; i++) CHECK(all[i] == i);
#pragma xmp gmove
  b[1:N/2:2] = a[0:N/2];
#pragma xmp gmove
  part[:] = b[1:3:2];
  CHECK(part[0] == 0 && part[1] == 1 && part[2] == 2);
#pragma xmp gmove
  e[2:4][:] = d[5:4][:];
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) CHECK(e[i][3] == (i >= 2 && i < 6 ? 10 * (i + 3) + 3 : -1));
#pragma xmp gmove
  e[0][:] = d[N-1][:];
#pragma xmp task on c(0)
  CHECK(e[0][4] == 10 * (N - 1) + 4);
#pragma xmp gmove
  x = a[N - 2];
  CHECK(x == N - 2);
#pragma xmp gmove
  n = a[3];
#pragma xmp gmove
  x = f[5];
  CHECK(n == 3 && x == 2.5);
#pragma xmp gmove
  a[4] = x;
#pragma xmp gmove
  b[:] = 1.5;
#pragma xmp gmove
  d[1:2][3] = n;
#pragma xmp gmove
  all[2:3] = d[0:3][3];
  CHECK(all[2] == 3 && all[3] == 3 && all[4] == 3);
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) CHECK(b[i] == 1.5);
#pragma xmp gmove in
  x = a[4];
  CHECK(x == 2.5);
  xmp_sync_all(NULL);
#pragma xmp gmove out
  a[2:2] = part[1:2];
  xmp_sync_all(NULL);
#pragma xmp gmove in async(9)
  part[0:3] = a[2:3];
#pragma xmp wait_async (9)
  CHECK(part[0] == 1 && part[1] == 2 && part[2] == 2.5);
}

static void arrays(void) {
  double local[N];
  for (int i = 0; i < N; i++) local[i] = 1000;
#pragma xmp array on t(0:N-1)
  a[:] = 2.0;
#pragma xmp array on t[1:N-2]
  a[1:N-2] += f[1:N-2] * 2 + local[0:N-2];
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) CHECK(a[i] == (i > 0 && i < N - 1 ? 2 + i + 1000 : 2));
#pragma xmp array on g(0:M-1,0:N-1)
  d[:][:] = d[:][:] + 1;
#pragma xmp array on g(0:M-1,3)
  d[3][:] = 0;
#pragma xmp loop (i, j) on g(j,i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) CHECK(d[i][j] == (i == 3 ? 0 : 10 * i + j + 1) || (j == 3 && (i == 1 || i == 2)));
  // What stands on both sides is read first.
#pragma xmp array on g(1:M-1,0:N-1)
  d[:][1:M-1] = d[:][0:M-1];
#pragma xmp task on g(*,5)
  CHECK(d[5][0] == 51 && d[5][1] == 51 && d[5][4] == 54);
#pragma xmp array on c(0:N-1:3)
  b[0:N/3:3] = local[0:N/3] / 4;
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) CHECK(b[i] == (i % 3 == 0 ? 250 : 1.5));
}

int main(void) {
  fill();
  moves();
  arrays();
  return 0;
}
