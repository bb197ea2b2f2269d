// Coarrays that functions get, and allocated ones.
// double: no
#include "check.h"
double a[5][4]:[*], line[6]:[*];
int flags[3]:[*];
double (*whole)[4]:[*] = a;
int *allocated:[*];
static double element(double x[5][4]:[*], int i, int j, int image) { return x[i][j]:[image]; }
static void rows(int n, double x[][n]:[*], int image) {
  x[1][0:n]:[image] = x[0][0:n];
  x[2][n - 1]:[image] = n;
}
static void plain(double *x) { x[0] = 4; }
static void store(double *x:[*], int n, int image) {
  x[0:n]:[image] = x[0]:[image] + 1;
  *(x + n) = 0;
}
static int two(int (*f)[3]:[1][*], int image) { return (*f)[1]:[1][image]; }
typedef struct { int n; double *data; } box;
box boxes:[*];
// Memory that a structure points to is in other images what it is here.
static void containers(int image) {
  box own = {4, xmp_comalloc(4 * sizeof(double))};
  double *data:[*] = own.data;
  data[1:3]:[image] = ME;
  data[0]:[image] = own.n;
  boxes = own;
  xmp_sync_all(NULL);
  CHECK(own.data[0] == 4 && own.data[3] == LEFT && own.data[1] == LEFT);
  xmp_sync_all(NULL);
  CHECK(boxes.n:[image] == 4 && boxes.data[1]:[image] == ME && data[2]:[image] == ME);
  boxes.data[3]:[image] += 10;
  boxes.data[0:2]:[image] = boxes.data[2:2]:[image];
  xmp_sync_all(NULL);
  CHECK(own.data[3] == LEFT + 10 && own.data[0] == LEFT && own.data[1] == LEFT + 10);
  xmp_sync_all(NULL);
  xmp_cofree(own.data);
}
int main(void) {
  const int r = RIGHT;
  a[0][:] = 2;
  flags[1] = 5 + ME;
  xmp_sync_all(NULL);
  CHECK(element(a, 0, 3, ME) == 2 && whole[0][1]:[ME] == 2);
  rows(4, a, r);
  CHECK(a[1][3]:[r] == 2 && a[2][3]:[r] == 4 && whole[2][3]:[r] == 4);
  plain(line);
  CHECK(line[0] == 4 && line[0]:[ME] == 4);
  xmp_sync_all(NULL);
  store(line, 3, r);
  xmp_sync_all(NULL);
  CHECK(line[2]:[r] == 5 && two(&flags, ME) == 5 + ME);
  double *window:[*] = &line[2];
  window[0]:[r] = 9;
  window[1:2]:[r] = window[0]:[r];
  CHECK(line[4]:[r] == 9);
  whole++;
  CHECK(whole[0][3]:[r] == 2);
  allocated = xmp_comalloc(10 * sizeof(int));
  allocated[3:4]:[r] = ME;
  xmp_sync_all(NULL);
  CHECK(allocated[6]:[r] == ME && allocated[7]:[r] == 0);
  int(*grid)[3]:[*] = xmp_comalloc(sizeof(int[4][3]));
  grid[1:2][:]:[r] = 3;
  grid[1:2][0:2]:[r] = grid[2:2:-1][1:2]:[r] + 1;
  CHECK(grid[2][1]:[r] == 4 && grid[2][2]:[r] == 3 && grid[3][0]:[r] == 0);
  xmp_sync_all(NULL);
  xmp_cofree(grid);
  xmp_cofree(allocated);
  containers(r);
  return 0;
}
