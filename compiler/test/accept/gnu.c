// options: -O0; -O2
// arrays: 7
#include <stdio.h>
#include <stdlib.h>
dlm int completed_by_nobody[];
dlm int zero[0], a[3] = {1, 2, 3};
dlm struct {
} nothing[2];
dlm _Atomic int counter[2];
dlm __int128 wide[2];
extern dlm double declared_only[];
__extension__ typedef struct {
  int n;
  int rest[];
} flexible;
static __typeof__(a) copy = {4, 5, 6};
_Float128 quad = 1;
dlm _Float64 f64[2] = {1.5};

int main(void) {
  counter[1]++;
  wide[1] = (__int128)1 << 70;
  printf("%zu %zu %d %d %d\n", sizeof zero, sizeof nothing, (void*)zero != NULL, (void*)nothing != NULL, counter[1]);
  printf("%d %g %d\n", (int)(wide[1] >> 68), f64[0], copy[1]);
  flexible* f = malloc(sizeof *f + sizeof a);
  f->rest[2] = a[2] ?: 5;
  printf("%d\n", f->rest[2]);
  return completed_by_nobody[0];
}
