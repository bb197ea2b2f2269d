// Elemental functions of sections of distributed arrays, under `array`.
// double: no
#include "check.h"
#include <math.h>
#define M 17
#pragma xmp nodes p(*)
#pragma xmp template t(0:M-1)
#pragma xmp distribute t(cyclic(2)) onto p
static double wide[M], roots[M];
static int whole[M];
#pragma xmp align wide[i] with t(i)
#pragma xmp align roots[i] with t(i)
#pragma xmp align whole[i] with t(i)

int main(void) {
#pragma xmp loop on t(i)
  for (int i = 0; i < M; i++) wide[i] = i * i, whole[i] = i % 4;
#pragma xmp array on t(0:M-1)
  roots[0:M] = sqrt(wide[0:M]) + fabs(-wide[0:M]);
#pragma xmp loop on t(i)
  for (int i = 0; i < M; i++) CHECK(roots[i] == i + i * i);
#pragma xmp array on t(0:M-1)
  roots[0:M] = frexp(wide[0:M], &whole[0:M]);
#pragma xmp loop on t(i)
  for (int i = 0; i < M; i++) {
    int exponent;
    CHECK(roots[i] == frexp(i * i, &exponent) && whole[i] == exponent);
    roots[i] = i + i * i, whole[i] = i % 4;
  }
#pragma xmp array on t(1:M-2:3)
  roots[1:5:3] = ldexp(wide[1:5:3], whole[1:5:3]);
#pragma xmp loop on t(i)
  for (int i = 0; i < M; i++) CHECK(roots[i] == (i % 3 == 1 && i <= M - 2 ? ldexp(i * i, i % 4) : i + i * i));
  return 0;
}
