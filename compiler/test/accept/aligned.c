// options: -O0; -O2 -std=gnu11
// arrays: 6
#include <stdint.h>
#include <stdio.h>

__attribute__((aligned(4096))) dlm double page[3];
dlm int line[4] __attribute__((aligned(256))) = {1, 2}, other[3];
_Alignas(1024) static dlm char big[5] = "big";
typedef float vector __attribute__((vector_size(16)));
dlm vector vectors[4];
dlm float lanes[4] __attribute__((vector_size(32))) = {{1, 2, 3}};

int main(void) {
  printf("%d %d %d\n", (int)((uintptr_t)page % 4096), (int)((uintptr_t)line % 256), (int)((uintptr_t)big % 1024));
  printf("%zu %zu %zu %zu\n", sizeof page, sizeof line, sizeof vectors, sizeof lanes);
  vectors[1] += (vector){1, 2, 3, 4};
  printf("%g %g %d %s %d\n", vectors[1][2], lanes[0][1], line[1], big, other[2]);
  return 0;
}
