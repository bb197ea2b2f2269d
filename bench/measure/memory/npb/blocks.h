// What the kernels with five numbers a point share: blocks of 5x5 and vectors of five.
#ifndef TASUKI_BENCH_NPB_BLOCKS_H
#define TASUKI_BENCH_NPB_BLOCKS_H

#include <stddef.h>

typedef double vector[5];
typedef double block[5][5];

// out -= a x
static inline void subtract_product(block a, vector x, vector out) {
  for (int m = 0; m < 5; m++)
    for (int l = 0; l < 5; l++) out[m] -= a[m][l] * x[l];
}

// x := b^-1 x, and c := b^-1 c unless it is NULL, by Gauss' method; b must be dominated by its diagonal, and
// is lost.
static inline void solve_block(block b, double (*c)[5], vector x) {
  for (int p = 0; p < 5; p++) {
    const double pivot = 1 / b[p][p];
    for (int l = p; l < 5; l++) b[p][l] *= pivot;
    for (int l = 0; c != NULL && l < 5; l++) c[p][l] *= pivot;
    x[p] *= pivot;
    for (int m = 0; m < 5; m++) {
      if (m == p) continue;
      const double factor = b[m][p];
      for (int l = p; l < 5; l++) b[m][l] -= factor * b[p][l];
      for (int l = 0; c != NULL && l < 5; l++) c[m][l] -= factor * c[p][l];
      x[m] -= factor * x[p];
    }
  }
}

#endif
