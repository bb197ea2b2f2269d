// Combined directives: attributes, a double colon, and what they are said of.
// double: no
#include "check.h"
#define N 24
#define M 6
#pragma xmp nodes :: p(*), q[*][1]
#pragma xmp template, distribute (block) onto p :: t(0:N-1), u(1:N)
#pragma xmp distribute [cyclic(2)] onto p, template :: c[N]
#pragma xmp template :: late(0:N-1)
#pragma xmp distribute (gblock(*)) onto p :: late
#pragma xmp template, distribute (*, block) onto p :: g(0:M-1,0:N-1)
static double a[N], b[N];
static int v[N][M], w[N][M], dealt[N];
#pragma xmp align (i) with t(i), shadow (1:2) :: a, b
#pragma xmp shadow [1][0], align [i][j] with g(j,i) :: v, w
#pragma xmp align (i) with c[i] :: dealt

int main(void) {
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) a[i] = i, b[i] = 2 * i;
#pragma xmp reflect (a, b)
#pragma xmp loop on t(i)
  for (int i = 1; i < N - 2; i++) CHECK(a[i - 1] + a[i + 2] == 2 * i + 1 && b[i - 1] == 2 * i - 2 && b[i + 2] == 2 * i + 4);
#pragma xmp loop (i, j) on g(j,i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) v[i][j] = w[i][j] = i * M + j;
#pragma xmp reflect (v, w)
#pragma xmp loop (i, j) on g(j,i)
  for (int i = 1; i < N - 1; i++)
    for (int j = 0; j < M; j++) CHECK(v[i - 1][j] + w[i + 1][j] == 2 * (i * M + j));
  int n = 0, sum = 0;
#pragma xmp loop on u(i) reduction(+:n)
  for (int i = 1; i <= N; i++) n++;
#pragma xmp loop on c[i] reduction(+:sum)
  for (int i = 0; i < N; i++) sum += dealt[i] = i;
  CHECK(n == N && sum == N * (N - 1) / 2);
  int format = 0, size = 0;
  CHECK(xmp_dist_format(xmp_desc_of(c), 1, &format) == 0 && format == XMP_CYCLIC);
  CHECK(xmp_dist_format(xmp_desc_of(late), 1, &format) == 0 && format == XMP_GBLOCK);
  CHECK(xmp_nodes_size(xmp_desc_of(q), 2, &size) == 0 && size == xmp_num_nodes());
  {
#pragma xmp template, distribute (block) onto p :: t(0:M-1)
    int own[M];
#pragma xmp align (i) with t(i), shadow (1) :: own
#pragma xmp loop on t(i)
    for (int i = 0; i < M; i++) own[i] = i;
#pragma xmp reflect (own)
#pragma xmp loop on t(i)
    for (int i = 1; i < M; i++) CHECK(own[i - 1] == i - 1);
  }
  return 0;
}
