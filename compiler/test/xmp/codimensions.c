// Images in two and three dimensions.
#include "check.h"
int a[4]:[2][*], one:[1][1][*], tall:[1][*];
static int number(int x[]:[2][*], int i, int j) { return x[0]:[i][j]; }
int main(void) {
  const int n = xmp_num_images();
  a[0] = ME, one = 10 * ME, tall = ME;
  xmp_sync_all(NULL);
  CHECK(tall:[1][ME] == ME && one:[1][1][ME] == 10 * ME);
  for (int j = 1; 2 * j <= n && xmp_all_num_nodes() == n; j++) {
    if (ME == 1 || ME == 2 * j) CHECK(a[0]:[ME == 1 ? 1 : 2][ME == 1 ? 1 : j] == ME);
  }
  int i = (ME - 1) % 2 + 1, j = (ME - 1) / 2 + 1;
  CHECK(number(a, i, j) == ME && a[0]:[i][j]++ == ME && a[0] == ME + 1);
  a[1:3]:[i][j] = a[0]:[i][j];
  CHECK(a[3] == ME + 1);
  xmp_sync_all(NULL);
  return 0;
}
