// xmp_desc_of coarrays: what the inquiry functions say of them, and memory for their pointers.
// double: no
#include "check.h"
typedef struct { int x; double y; } pair;
int a[5][4]:[*], scalar:[*];
double *line:[*], (*rows)[3]:[*], (*boxes)[2][6]:[2][*];
pair *pairs:[*];
int plain[3];

static int bounds(double x[][7]:[*], int second) {
  int lower = -1, upper = -1, dimensions = 0;
  CHECK(xmp_array_ndims(xmp_desc_of(x), &dimensions) == 0 && dimensions == 2);
  CHECK(xmp_array_lbound(xmp_desc_of(x), second, &lower) == 0 && lower == 0);
  CHECK(xmp_array_ubound(xmp_desc_of(x), 1, &upper) == -1 && upper == -1);
  return xmp_array_ubound(xmp_desc_of(x), second, &upper) == 0 ? upper : -1;
}

static size_t sizes_of(xmp_desc_t d, size_t n) {
  size_t all = 1;
  int dimensions = 0;
  CHECK(xmp_array_ndims(d, &dimensions) == 0);
  for (int i = 1; i <= dimensions; i++) {
    int upper = 0;
    all *= xmp_array_ubound(d, i, &upper) == 0 ? (size_t)upper + 1 : n;
  }
  return all;
}

int main(void) {
  static double x[2][7]:[*];
  const int me = ME, right = RIGHT;
  int value = -5;
  CHECK(xmp_array_ndims(xmp_desc_of(a), &value) == 0 && value == 2);
  CHECK(xmp_array_lbound(xmp_desc_of(a), 2, &value) == 0 && value == 0);
  CHECK(xmp_array_ubound(xmp_desc_of(a), 1, &value) == 0 && value == 4);
  CHECK(xmp_array_ubound(xmp_desc_of(a), 2, &value) == 0 && value == 3);
  CHECK(xmp_array_ubound(xmp_desc_of(a), 3, &value) == -1 && xmp_array_lbound(xmp_desc_of(a), 0, &value) == -1);
  CHECK(xmp_array_ndims(xmp_desc_of(scalar), &value) == 0 && value == 0);
  CHECK(xmp_array_ubound(xmp_desc_of(scalar), 1, &value) == -1);
  // They are no distributed arrays, node arrays or templates.
  CHECK(xmp_array_lshadow(xmp_desc_of(a), 1, &value) == -1 && xmp_align_axis(xmp_desc_of(a), 1, &value) == -1);
  CHECK(xmp_nodes_ndims(xmp_desc_of(a), &value) == -1 && xmp_template_ndims(xmp_desc_of(a), &value) == -1);
  CHECK(bounds(x, 2) == 6 && xmp_array_ubound(xmp_desc_of(x), 1, &value) == 0 && value == 1);
  CHECK(xmp_desc_of(a) != xmp_desc_of(x));
  for (int n = 1; n <= 3; n++) {
    const size_t size = (size_t)n;
    line = xmp_malloc(xmp_desc_of(line), size + 4);
    rows = (double(*)[3])xmp_malloc(xmp_desc_of(rows), size, (size_t)3);
    boxes = xmp_malloc(xmp_desc_of(boxes), size, (size_t)2, (size_t)6);
    pairs = xmp_malloc(xmp_desc_of(pairs), size);
    CHECK(sizes_of(xmp_desc_of(line), 9) == 9 && sizes_of(xmp_desc_of(boxes), size) == size * 12);
    line[n + 3] = me, rows[n - 1][2] = 2 * me, boxes[n - 1][1][5] = 3 * me, pairs[n - 1].y = 4 * me;
    xmp_sync_all(NULL);
    CHECK(line[n + 3]:[right] == right && rows[n - 1][2]:[right] == 2 * right && line[0]:[right] == 0);
    CHECK(boxes[n - 1][1][5]:[(right - 1) % 2 + 1][(right - 1) / 2 + 1] == 3 * right);
    CHECK(pairs[n - 1].y:[right] == 4 * right);
    xmp_free(pairs), xmp_free(boxes), xmp_free(rows), xmp_free(line);
  }
  xmp_free(NULL);
  return 0;
}
