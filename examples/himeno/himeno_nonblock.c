/* Himeno benchmark, XcalableACC's local view with nonblocking gets. See himeno.h; himeno_local.c gets one
 * plane after the other.
 *
 *     tasukicc -O3 -march=native -ffast-math -DSIZE=M -DNDI=2 -DNDJ=2 himeno_nonblock.c -o himeno_nonblock -lm
 *     mpirun -n 4 tasuki run ./himeno_nonblock 100
 */
#include <xmp.h>

#include "himeno.h"
#include "../xmp/image_sum.h"

static float p[LI][LJ][NK]:[NDJ][*];
#pragma acc declare create(p)

/* The numbers of up to eight images around this one, across edges too. */
static int neighbours(struct block me, int images[8]) {
  int count = 0;
  for (int i = me.i - 1; i <= me.i + 1; i++)
    for (int j = me.j - 1; j <= me.j + 1; j++)
      if (i >= 0 && i < NDI && j >= 0 && j < NDJ && (i != me.i || j != me.j)) images[count++] = i * NDJ + j + 1;
  return count;
}

/* Points at the block's edges come straight from the blocks across them, so that nothing waits for
 * anything but the one meeting, and all gets are on their way at once. When I have read a neighbour's
 * points is told by the sum of gosa, which nobody has before everybody has given its part; and points
 * change behind that. */
static void exchange(struct block me) {
  const int i = me.i + 1, j = me.j + 1; /* coindices count from 1 */
  const int low_i = me.i > 0, high_i = me.i < NDI - 1, low_j = me.j > 0, high_j = me.j < NDJ - 1;
  static int around[8], count = -1;
  if (count < 0) count = neighbours(me, around);
  xmp_sync_images(count, around, NULL);
#pragma acc host_data use_device(p)
#pragma xmp nonblock
  {
    if (low_i) p[0][1:BJ][:] = p[BI][1:BJ][:]:[j][i - 1];
    if (high_i) p[BI + 1][1:BJ][:] = p[1][1:BJ][:]:[j][i + 1];
    if (low_j) p[1:BI][0][:] = p[1:BI][BJ][:]:[j - 1][i];
    if (high_j) p[1:BI][BJ + 1][:] = p[1:BI][1][:]:[j + 1][i];
    if (low_i && low_j) p[0][0][:] = p[BI][BJ][:]:[j - 1][i - 1];
    if (low_i && high_j) p[0][BJ + 1][:] = p[BI][1][:]:[j + 1][i - 1];
    if (high_i && low_j) p[BI + 1][0][:] = p[1][BJ][:]:[j - 1][i + 1];
    if (high_i && high_j) p[BI + 1][BJ + 1][:] = p[1][1][:]:[j + 1][i + 1];
  }
#pragma xmp wait_nonblock
}

int main(int argc, char** argv) {
  const struct run run = run_of(argc, argv, xmp_num_images(), xmp_this_image() - 1);
  const struct block me = block_of(xmp_this_image() - 1);
  double gosa = 0;
  set_up(p, me);
  xmp_sync_all(NULL);
  start_clock();
  for (int n = 0; n < run.iterations; n++) {
    exchange(me);
    spent(&clock_.communication);
    gosa = jacobi(p, me);
    spent(&clock_.compute);
    gosa = image_sum(gosa, 1, PROCESSES);
    spent(&clock_.reduction);
    update(p, me);
    spent(&clock_.compute);
  }
  return xmp_this_image() == 1 ? report("nonblock", run, gosa) : 0;
}
