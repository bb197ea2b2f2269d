/* NPB CG, XcalableACC's local view: coarrays. See cg.h.
 *
 *     tasukicc -O3 -march=native -ffast-math -DCLASS=A -DPROWS=2 -DPCOLS=2 cg_local.c -o cg_local -lm
 *     mpirun -n 4 tasuki run ./cg_local
 */
#include <xmp.h>

#include "../xmp/image_sum.h"
#include "cg.h"

static struct place me;
static double w[ROWS]:[*], q[ROWS];
#pragma acc declare create(w, q)

static int image_of(struct place at) { return at.row * PCOLS + at.col + 1; }

static double sum(double mine) { return image_sum(mine, me.row * PCOLS + 1, PCOLS); }

/* The sum of w over my row of images by recursive doubling, of the COLS elements that I keep. Then across
 * the diagonal. `whole` and `part` are w and q, which sections name. */
static void assemble(double* whole, double* part) {
  const int keep = kept(me), other = image_of(across(me));
  for (int bit = 1; bit < PCOLS; bit *= 2) {
    const int partner = image_of((struct place){me.row, me.col ^ bit});
    xmp_sync_image(partner, NULL); /* both have theirs ready */
#pragma acc host_data use_device(w, q)
    q[0:COLS] = w[keep:COLS]:[partner];
    xmp_sync_image(partner, NULL); /* both have got them */
#pragma acc parallel loop present(whole [0:ROWS], part [0:ROWS])
    for (int i = 0; i < COLS; i++) whole[keep + i] += part[i];
  }
  if (other != image_of(me)) {
    xmp_sync_image(other, NULL);
#pragma acc host_data use_device(w, q)
    q[0:COLS] = w[keep:COLS]:[other];
    xmp_sync_image(other, NULL);
  } else {
#pragma acc parallel loop present(whole [0:ROWS], part [0:ROWS])
    for (int i = 0; i < COLS; i++) part[i] = whole[keep + i];
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
  return xmp_this_image() == 1 ? report("local", zeta, rest) : 0;
}
