/* Himeno benchmark, XcalableACC's local view: halos are assignments from coarrays of the neighbours. See
 * himeno.h.
 *
 *     tasukicc -O3 -march=native -ffast-math -DSIZE=M -DNDI=2 -DNDJ=2 himeno_local.c -o himeno_local -lm
 *     mpirun -n 4 tasuki run ./himeno_local 100
 */
#include <xmp.h>

#include "himeno.h"
#include "../xmp/image_sum.h"

static float p[LI][LJ][NK]:[NDJ][*];
#pragma acc declare create(p)
#pragma xmp nodes grid[NDI][NDJ]

/* Planes of i and k are rows far apart. They need no packing: sections of any strides move as they are. A
 * neighbour has finished its update when it posts. When I have read its points is told by the sum of gosa,
 * which nobody has before everybody has given its part; and points change behind that. */
static void exchange_j(struct block me) {
  const int i = me.i + 1, j = me.j + 1; /* coindices count from 1 */
  if (me.j > 0) {
#pragma xmp post(grid[me.i][me.j - 1], 1)
  }
  if (me.j < NDJ - 1) {
#pragma xmp post(grid[me.i][me.j + 1], 1)
  }
#pragma acc host_data use_device(p)
  {
    if (me.j > 0) {
#pragma xmp wait(grid[me.i][me.j - 1], 1)
      p[1:BI][0][:] = p[1:BI][BJ][:]:[j - 1][i];
    }
    if (me.j < NDJ - 1) {
#pragma xmp wait(grid[me.i][me.j + 1], 1)
      p[1:BI][BJ + 1][:] = p[1:BI][1][:]:[j + 1][i];
    }
  }
}

/* Whole planes of j and k, with what exchange_j has just brought: so points at the block's edges get there
 * by two steps. */
static void exchange_i(struct block me) {
  const int i = me.i + 1, j = me.j + 1;
  if (me.i > 0) {
#pragma xmp post(grid[me.i - 1][me.j], 2)
  }
  if (me.i < NDI - 1) {
#pragma xmp post(grid[me.i + 1][me.j], 2)
  }
#pragma acc host_data use_device(p)
  {
    if (me.i > 0) {
#pragma xmp wait(grid[me.i - 1][me.j], 2)
      p[0][:][:] = p[BI][:][:]:[j][i - 1];
    }
    if (me.i < NDI - 1) {
#pragma xmp wait(grid[me.i + 1][me.j], 2)
      p[BI + 1][:][:] = p[1][:][:]:[j][i + 1];
    }
  }
}

int main(int argc, char** argv) {
  const struct run run = run_of(argc, argv, xmp_num_images(), xmp_this_image() - 1);
  const struct block me = block_of(xmp_this_image() - 1);
  double gosa = 0;
  set_up(p, me);
  xmp_sync_all(NULL);
  start_clock();
  for (int n = 0; n < run.iterations; n++) {
    exchange_j(me);
    exchange_i(me);
    spent(&clock_.communication);
    gosa = jacobi(p, me);
    spent(&clock_.compute);
    gosa = image_sum(gosa, 1, PROCESSES);
    spent(&clock_.reduction);
    update(p, me);
    spent(&clock_.compute);
  }
  return xmp_this_image() == 1 ? report("local", run, gosa) : 0;
}
