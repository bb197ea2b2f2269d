// Node arrays, templates and arrays of functions whose sizes vary from call to call.
// double: no
#include "check.h"
#define N 24
#pragma xmp nodes p(*)

// A grid of `rows` by as many nodes as there are for them.
static void grid(int rows, int n) {
#pragma xmp nodes q(rows,*)
#pragma xmp nodes line(rows) = q(1:rows,1)
#pragma xmp template t(0:n-1,0:n-1)
#pragma xmp distribute t(block,cyclic) onto q
  int a[n][n], size = 0, sum = 0;
#pragma xmp align a[i][j] with t(i,j)
  CHECK(xmp_nodes_size(xmp_desc_of(q), 1, &size) == 0 && size == rows);
  CHECK(xmp_nodes_size(xmp_desc_of(q), 2, &size) == 0 && size == xmp_num_nodes() / rows);
#pragma xmp loop (i, j) on t(i,j)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[i][j] = i * n + j;
#pragma xmp loop (i, j) on t(i,j) reduction(+:sum)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) sum += a[i][j];
  CHECK(sum == n * n * (n * n - 1) / 2);
#pragma xmp task on line
  {
    CHECK(xmp_num_nodes() == rows);
#pragma xmp barrier
  }
}

// The nodes that execute it.
static int members(int first, int n) {
#pragma xmp nodes here(*) = *
#pragma xmp template t(first:first+n-1)
#pragma xmp distribute t(block) onto here
  int size = 0, sum = 0;
  CHECK(xmp_nodes_size(xmp_desc_of(here), 1, &size) == 0 && size == xmp_num_nodes());
#pragma xmp loop on t(i) reduction(+:sum)
  for (int i = first; i < first + n; i++) sum += i;
  CHECK(sum == n * first + n * (n - 1) / 2);
  return size;
}

int main(void) {
  const int nodes = xmp_num_nodes();
  for (int round = 0; round < 3; round++)
    for (int rows = 1; rows <= nodes; rows++)
      if (nodes % rows == 0) grid(rows, 7 + rows + round);
  CHECK(members(3, N) == nodes);
  const int half = (nodes + 1) / 2;
#pragma xmp task on p(1:half)
  CHECK(members(-2, N + 1) == half);
  CHECK(members(0, N) == nodes);
  return 0;
}
