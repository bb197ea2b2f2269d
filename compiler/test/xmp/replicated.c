// Arrays that several nodes have whole: reductions of all their memory, which go directly from node to node where they can, assignments
// from them, for which nobody waits, and reductions of scalars between both, by changing sets of nodes.
// double: no
#include "check.h"
#define ROUNDS 5
#pragma xmp nodes p(*)

// A grid of `rows` by `columns` nodes; those of a row have the same part of w, those of a column the same of v.
static void grid(int rows, int columns, int n) {
#pragma xmp nodes q(rows,columns)
#pragma xmp template t(0:n-1,0:n-1)
#pragma xmp distribute t(block,block) onto q
  double w[n], v[n];
  short s[n];
#pragma xmp align w[i] with t(i,*)
#pragma xmp align v[i] with t(*,i)
#pragma xmp align s[i] with t(i,*)
  const int me = xmp_node_num() - 1, row = me % rows, column = me / rows;
  for (int round = 0; round < ROUNDS; round++) {
#pragma xmp loop (i) on t(i,*)
    for (int i = 0; i < n; i++) w[i] = (i % 97 + round) * (column + 1), s[i] = (i * 7 + column * 3 + round) % 50;
#pragma xmp reduction(+:w) on q(*,:)
#pragma xmp reduction(max:s) on q(*,:)
    const int factor = columns * (columns + 1) / 2;
#pragma xmp loop (i) on t(i,*)
    for (int i = 0; i < n; i++) {
      int most = 0;
      for (int c = 0; c < columns; c++) most = (i * 7 + c * 3 + round) % 50 > most ? (i * 7 + c * 3 + round) % 50 : most;
      CHECK(w[i] == (i % 97 + round) * factor && s[i] == most);
    }
#pragma xmp gmove
    v[:] = w[:];
#pragma xmp loop (i) on t(i,*)
    for (int i = 0; i < n; i++) w[i] = -1;
    int rows_here = row + 1, all = me + round;
    long double first = column + 0.25L;
#pragma xmp reduction(+:rows_here) on q(:,*)
#pragma xmp reduction(+:all)
#pragma xmp reduction(min:first) on q(*,:)
    CHECK(rows_here == rows * (rows + 1) / 2 && first == 0.25L);
    CHECK(all == rows * columns * (rows * columns - 1) / 2 + rows * columns * round);
    double sum = 0;
#pragma xmp loop (i) on t(*,i) reduction(+:sum)
    for (int i = 0; i < n; i++) {
      CHECK(v[i] == (i % 97 + round) * factor);
      sum += v[i];
    }
    double wanted = 0;
    for (int i = 0; i < n; i++) wanted += (i % 97 + round) * factor;
    CHECK(sum == wanted);
  }
}

// MPI has no && of numbers that are not whole: the operation is the runtime's own.
static void truth(int nodes) {
#pragma xmp template t(0:nodes-1)
#pragma xmp distribute t(block) onto p
  double both[777];
#pragma xmp align both[*] with t(*)
  const int me = xmp_node_num() - 1;
  for (int i = 0; i < 777; i++) both[i] = i % (me + 2) != 0 ? 0.5 : 0;
#pragma xmp reduction(&&:both)
  for (int i = 0; i < 777; i++) {
    int wanted = 1;
    for (int m = 0; m < nodes; m++) wanted = wanted && i % (m + 2) != 0;
    CHECK((both[i] != 0) == wanted);
  }
}

int main(void) {
  const int nodes = xmp_num_nodes();
  for (int rows = 1; rows <= nodes; rows++)
    if (nodes % rows == 0)
      for (int n = 150; n < 6000; n = 36 * n + 3) grid(rows, nodes / rows, n);
  truth(nodes);
  return 0;
}
