// Regions of nonblock complete at the next synchronization.
// double: no
#include "check.h"
double a[100]:[*], b[100]:[*], s:[*];
int main(void) {
  const int r = RIGHT;
  double local[100], x = 0, y = 4;
  for (int i = 0; i < 100; i++) local[i] = i + ME, b[i] = 2 * i + ME;
  xmp_sync_all(NULL);
#pragma xmp nonblock
  {
    a[0:50]:[r] = local[50:50];
    local[0:50] = b[0:50]:[r];
    s:[r] = y;
    x = b[99]:[r];
  }
#pragma xmp wait_nonblock (local)
  CHECK(x == 198 + r && local[49] == 98 + r);
#pragma xmp wait_nonblock
#pragma xmp nonblock (remote)
  for (int i = 50; i < 100; i++) a[i]:[r] = i;
  if (x > 0)
#pragma xmp nonblock
  { y = b[1]:[r] + 1; CHECK(y == 3 + r); }
  else
    x = 1;
  xmp_sync_all(NULL);
  CHECK(a[99]:[r] == 99 && a[0]:[r] == 50 + ME && s:[r] == 4);
  xmp_sync_all(NULL);
  return 0;
}
