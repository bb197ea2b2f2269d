// The acc clauses of the global view's communication, without a word of OpenACC on data: all that a host has for a device must work alike.
// double: no
// needs: -acc
#include "check.h"
#define N 36
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
static double a[N];
#pragma xmp align a[i] with t(i)
#pragma xmp shadow a[1]
int main(void) {
  int low=0, high=-1;
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) { a[i] = i; if (high < 0) low = i; high = i; }
#pragma xmp reflect_init (a) width(/periodic/1) acc
#pragma xmp reflect_do (a) acc
  if (low <= high) CHECK(a[low-1] == (low + N - 1) % N);
  xmp_sync_all(NULL);
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) a[i] = -i;
#pragma xmp reflect (a) width(/periodic/1) orthogonal async(1) acc
#pragma xmp wait_async (1) acc
  if (low <= high) CHECK(a[high+1] == -((high + 1) % N));
  xmp_sync_all(NULL);
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) a[i] = i;
  long long total = 10; double b[N], x = 3;
#pragma acc parallel loop reduction(+:total)
#pragma xmp loop on t(i) reduction(+:total) acc
  for (int i = 0; i < N; i++) total += i;
  CHECK(total == 10 + N * (N - 1) / 2);
#pragma xmp gmove acc(a)
  b[:] = a[:];
  for (int i = 0; i < N; i++) CHECK(b[i] == i);
#pragma xmp gmove acc
  a[0:3] = x;
#pragma xmp reduction(+:total) async(2) acc
#pragma xmp bcast (x) acc
#pragma xmp wait_async (2) acc
  CHECK(total == xmp_num_nodes() * (10 + N * (N - 1) / 2) && x == 3);
#pragma xmp barrier acc
#pragma acc barrier_device
  xmp_sync_all(NULL);
  return 0;
}
