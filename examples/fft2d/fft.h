/* A Fourier transform of one row, by Stockham's method: every pass reads one array and writes another one, in
 * an order that leaves the result sorted. The passes have radix 4, and the last one radix 2 if need be. */
#ifndef FFT_H
#define FFT_H

#include <complex.h>
#include <math.h>
#include <string.h>

static inline int is_power_of_two(int n) {
  return n > 0 && (n & (n - 1)) == 0;
}

/* roots[k] = exp(-2 pi i k / n) */
static inline void set_roots(int n, double complex* roots) {
  const double pi = acos(-1);
  for (int k = 0; k < n; k++) roots[k] = cos(2 * pi * k / n) - I * sin(2 * pi * k / n);
}

/* Transforms of `length` elements that lie `stride` apart, `stride` of them; both multiply to n. */
static inline void radix4(int length, int stride, const double complex* roots, const double complex* from,
                          double complex* to) {
  const int quarter = length / 4, apart = quarter * stride;
  for (int p = 0; p < quarter; p++) {
    const double complex w1 = roots[p * stride], w2 = roots[2 * p * stride], w3 = roots[3 * p * stride];
    for (int q = 0; q < stride; q++) {
      const double complex* x = from + p * stride + q;
      double complex* y = to + 4 * p * stride + q;
      const double complex a = x[0], b = x[apart], c = x[2 * apart], d = x[3 * apart];
      const double complex turned = I * (b - d);
      y[0] = a + c + (b + d);
      y[stride] = w1 * (a - c - turned);
      y[2 * stride] = w2 * (a + c - (b + d));
      y[3 * stride] = w3 * (a - c + turned);
    }
  }
}

static inline void radix2(int stride, const double complex* from, double complex* to) {
  for (int q = 0; q < stride; q++) {
    const double complex a = from[q], b = from[stride + q];
    to[q] = a + b, to[stride + q] = a - b;
  }
}

/* row := its transform / sqrt(n), n a power of two. Of this one, four in turn give the row back. */
static inline void fft(int n, const double complex* roots, double complex* row, double complex* scratch) {
  double complex *from = row, *to = scratch;
  for (int length = n, stride = 1; length > 1;) {
    const int radix = length >= 4 ? 4 : 2;
    if (radix == 4)
      radix4(length, stride, roots, from, to);
    else
      radix2(stride, from, to);
    length /= radix, stride *= radix;
    double complex* const written = to;
    to = from, from = written;
  }
  const double scale = 1 / sqrt(n);
  for (int q = 0; q < n; q++) row[q] = scale * from[q];
}
#endif
