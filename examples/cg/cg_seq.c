/* NPB CG, sequential: see cg.h.
 *
 *     gcc -O3 -march=native -ffast-math -DCLASS=A cg_seq.c -o cg_seq -lm
 *     ./cg_seq
 */
#include "cg.h"

_Static_assert(PROCESSES == 1, "one process");

static double q[ROWS];
#pragma acc declare create(q)

static double sum(double mine) { return mine; }
static void assemble(double* w, double* whole) { (void)w, (void)whole; } /* they are the same array */

int main(void) {
  double rest;
  set_up(place_of(0));
  const double zeta = power_method(place_of(0), q, q, &rest);
  return report("seq", zeta, rest);
}
