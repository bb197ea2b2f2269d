int a[10]:[*], b[10], m[4][5];
int f(int);
int main(void) {
  int *p = b, *rows[4] = {m[0]}, x = 0;
  // error at 11: a section of a pointer needs a length
  b[:] = p[:];
  // error at 6: the length of a section must be greater than zero, not 0
  b[0:0] = 1;
  // error at 8: the stride of a section must not be zero
  b[0:3:0] = 1;
  // error at 11: a section with a negative stride must say where it begins: a lower bound that is left out is 0
  a[:] = b[::-1];
  // error at 12: this section has 4 elements, and that on the left side has 3
  a[0:3] = b[0:4];
  // error at 12: this section has 10 elements, and that on the left side has 2
  a[0:2] = b[:] + 1;
  // error at 17: in an expression all sections must have the same shape: this one has 1 dimension, and that on the left side has 2
  m[0:2][0:2] = m[0][0:4] + b[0:4];
  // error at 5: a section on the right side needs one on the left side
  x = b[0:3];
  // error at 5: a section on the right side needs one on the left side
  x = f(b[0:3]);
  // error at 8: a section can stand in an array assignment only
  if (b[0:3] == 0) x = 1;
  // error at 13: the elements of a section must lie in one array: no pointer may stand behind the section
  rows[0:2] [0:3] = 1;
  // error at 15: an array assignment is a statement of its own
  a[0:3] = (x = b[0:3]);
  // error at 12: '++' cannot be applied to a section
  a[0:3] = ++b[0:3];
  return x;
}
