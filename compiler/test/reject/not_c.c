// from: the compiler
dlm double a[10];
int main(void) {
  // error at 10: 'b' undeclared
  a[1] = b;
  // error at 3: too few arguments
  __builtin_memcpy(a);
  // error at 11: array subscript is not an integer
  return a[(int*)1];
}
