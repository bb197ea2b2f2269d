// options: -O0; -O2 -g
// arrays: 4
// Text of other files, and other lines, in the middle of everything.
#include <assert.h>
#include <stdio.h>

dlm double table[] = {
#include "included.inc"
};
dlm int self[3] = {sizeof self, sizeof self / sizeof self[0]};
dlm void* pointers[] = {
    pointers,
#line 100 "elsewhere.c"
    self,
    table + 1,
};
double* rows[] = {
#define ROW(i) table + i,
    ROW(0)
#include "included.inc"
#undef ROW
        ROW2
};
static dlm int
#line 7 "third.c"
    after[__LINE__];
int
#ifdef NOTHING
    no,
#endif
    line = __LINE__;

int main(void) {
  printf("%zu %g %d %d %d %d\n", sizeof table / sizeof *table, table[3], self[0], self[1], self[2], line);
  printf("%zu %d %d %s %d\n", sizeof pointers / sizeof *pointers, pointers[0] == pointers, pointers[1] == self, __FILE__, __LINE__);
  printf("%zu %d %g %zu\n", sizeof rows / sizeof *rows, rows[1] == NULL, *rows[3], sizeof after / sizeof *after);
  assert(rows[0] == table);
  return __LINE__;
}
