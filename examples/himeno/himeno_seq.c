/* Himeno benchmark, sequential: see himeno.h.
 *
 *     gcc -O3 -march=native -ffast-math -DSIZE=M himeno_seq.c -o himeno_seq -lm
 *     ./himeno_seq 100
 */
#include "himeno.h"

_Static_assert(PROCESSES == 1, "one process");

static float p[LI][LJ][NK];
#pragma acc declare create(p)

int main(int argc, char** argv) {
  const struct run run = run_of(argc, argv, 1, 0);
  const struct block me = block_of(0);
  double gosa = 0;
  set_up(p, me);
  start_clock();
  for (int n = 0; n < run.iterations; n++) {
    gosa = jacobi(p, me);
    update(p, me);
    spent(&clock_.compute);
  }
  return report("seq", run, gosa);
}
