// error at 15: 'a' is declared without dlm here
extern double a[10];
#include "redeclared.h"
// error at 8: 'a' is declared without dlm here
double a[10];
dlm double b[3];
int f(void) {
  // error at 17: 'b' is declared without dlm here
  extern double b[3];
  return (int)b[0];
}
int main(void) { return f(); }
