// from: the compiler
// options: -Wall -Werror
int a[3]:[*];
int main(void) {
  int b[3];
  // error: 'missing' undeclared
  a[missing]:[2] = 1;
  // error: array subscript is not an integer
  a[0]:[1.5] = 1;
  // error: array subscript is not an integer
  a[0:2.5] = 1;
  struct s { int x; } s = {1};
  // error: incompatible types when assigning to type 'int' from type 'struct s'
  a[1]:[2] = s;
  int m[4][5];
  // error: assignment to expression with array type
  m[0:2] = 0;
  return b[0] + m[0][0];
}
