#include <stddef.h>
dlm double a[10], b[3][4];
typedef double *const constant_pointer;
struct view {
  double* data;
};
// error at 31: the address of 'a' is known only when the program has started
constant_pointer by_typedef = a;
extern double* const twice_declared;
// error at 33: the address of 'a' is known only
double* const twice_declared = &a[1];
// error at 39: the address of 'a' is known only when the program has started: the compound literal in the initialiser of 'literal'
struct view* literal = &(struct view){a};
// error at 30: the address of 'a' is known only when the program has started: the thread-local 'each'
_Thread_local double* each = a;
int main(void) {
  // error at 23: the address of 'a' is known only when the program has started: the static variable 'p' of a function
  static double* p = &a[3];
  // error at 34: the address of 'b' is known only when the program has started: the static variable 'rows' of a function
  static double* rows[] = {NULL, b[1]};
  static size_t fine = sizeof a;
  return p == rows[0] && fine == 0;
}
