/* NPB CG, XcalableACC's local view with nonblocking puts. See cg.h; cg_local.c sums in steps, with two
 * meetings each.
 *
 *     tasukicc -O3 -march=native -ffast-math -DCLASS=A -DPROWS=2 -DPCOLS=2 cg_nonblock.c -o cg_nonblock -lm
 *     mpirun -n 4 tasuki run ./cg_nonblock
 */
#include <xmp.h>

#include "../xmp/image_sum.h"
#include "cg.h"

static struct place me;
static double w[ROWS], q[ROWS];
/* What the images of the row across the diagonal have put. Two sets in turn: who puts into one again has met
 * me since, when I had read it. */
static double parts[2][PCOLS][COLS]:[*];
#pragma acc declare create(parts, w, q)

static int image_of(struct place at) { return at.row * PCOLS + at.col + 1; }

static double sum(double mine) { return image_sum(mine, me.row * PCOLS + 1, PCOLS); }

/* The numbers of those that put to me or to whom I put: the row across the diagonal, and those across from
 * my row, but not this image. */
static int partners(int images[2 * PCOLS]) {
  int count = 0;
  for (int n = 0; n < 2 * PCOLS; n++) {
    const int row = across(me).row;
    const int image = image_of(n < PCOLS ? (struct place){row, n} : across((struct place){me.row, n - PCOLS}));
    int known = image == image_of(me);
    for (int i = 0; i < count; i++) known = known || images[i] == image;
    if (!known) images[count++] = image;
  }
  return count;
}

/* Each image puts what it has of a sum straight to those that need it, all puts on their way at once, and
 * there is one meeting. */
static void assemble(double* whole, double* result) {
  static int images[2 * PCOLS], count = -1, turn = 0;
  (void)whole; /* w, which sections name */
  if (count < 0) count = partners(images);
  turn = !turn;
#pragma acc host_data use_device(parts, w)
#pragma xmp nonblock
  for (int col = 0; col < PCOLS; col++) {
    const struct place to = across((struct place){me.row, col});
    const int keep = kept(to);
    parts[turn][me.col][:]:[image_of(to)] = w[keep:COLS];
  }
  xmp_sync_images(count, images, NULL);
#pragma acc parallel loop present(parts, result [0:ROWS])
  for (int i = 0; i < COLS; i++) {
    double element = 0;
    for (int col = 0; col < PCOLS; col++) element += parts[turn][col][i];
    result[i] = element;
  }
}

int main(int argc, char** argv) {
  double rest;
  (void)argc;
  check_processes(argv[0], xmp_num_images(), xmp_this_image() - 1);
  me = place_of(xmp_this_image() - 1);
  set_up(me);
  xmp_sync_all(NULL);
  const double zeta = power_method(me, w, q, &rest);
  return xmp_this_image() == 1 ? report("nonblock", zeta, rest) : 0;
}
