// Tasks on node arrays and templates, tasks, nocomm, barriers on sets, and node arrays with several dimensions in both notations.
// double: no
#include "check.h"
#define N 12
#pragma xmp nodes p(*)
#pragma xmp nodes line[*][1]
#pragma xmp nodes column(1,*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
static int a[N];
#pragma xmp align a[i] with t(i)

static int leaves_early(int n) {
#pragma xmp task on p(1)
  {
    if (n > 0) return 1;
  }
  return 2;
}

// Posts and waits name nodes of other tasks, too.
static void between_tasks(void) {
  const int all = xmp_num_nodes(), me = xmp_node_num();
#pragma xmp nodes each(*)
#pragma xmp task on each(me)
  {
    if (me == 1 && all > 1) {
#pragma xmp post (each(all), 9)
    }
    if (me == all && all > 1) {
#pragma xmp wait (each(1), 9)
    }
  }
}

int main(void) {
  between_tasks();
  const int nodes = xmp_num_nodes(), me = xmpc_node_num();
  int in = 0;
#pragma xmp task on p(1:nodes)
  in += xmp_num_nodes();
  CHECK(in == nodes);
#pragma xmp task on t(N-1)
  {
    CHECK(xmp_num_nodes() == 1);
    a[N - 1] = 5;
    in = -1;
  }
  int owners = in == -1;
#pragma xmp reduction(+:owners)
  CHECK(owners == 1);
#pragma xmp tasks
  {
#pragma xmp task on p(1)
    in = 10;
#pragma xmp task on p(nodes)
    in = 20;
#pragma xmp task on t(:)
    {
#pragma xmp barrier
      CHECK(xmp_num_nodes() > 0);
    }
  }
  CHECK(me != nodes - 1 || in == 20);
  CHECK(me != 0 || nodes == 1 || in == 10);
  for (int i = 0; i < N; i++)
#pragma xmp task on t(i) nocomm
    a[i] = i;
  for (int i = 0; i < N; i++) {
#pragma xmp task on t(i) nocomm
    if (i == 3) continue;
#pragma xmp task on t[i]
    CHECK(a[i] == i && xmp_num_nodes() == 1);
  }
  CHECK(leaves_early(1) == (me == 0 ? 1 : 2));
  int sum = 0;
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) sum += a[i];
#pragma xmp reduction(+:sum)
  CHECK(sum == N * (N - 1) / 2);
#pragma xmp barrier on p
#pragma xmp barrier on t(0:N-1)
  in = 0;
#pragma xmp task on line[nodes-1][0]
  in = 1;
  CHECK(in == (me == nodes - 1));
  in = 0;
#pragma xmp task on column(1,nodes)
  in = 1;
  CHECK(in == (me == nodes - 1));
  int size = 0, dimensions = 0;
  CHECK(xmp_nodes_ndims(xmp_desc_of(line), &dimensions) == 0 && dimensions == 2);
  CHECK(xmp_nodes_size(xmp_desc_of(column), 2, &size) == 0 && size == nodes);
  CHECK(xmp_array_ndims(xmp_desc_of(a), &dimensions) == 0 && dimensions == 1);
  return 0;
}
