// from: the compiler
int a[10]:[*], b[10];
int main(void) {
  // error: array
  a:[2] = b;
  // error: array
  b = a[:]:[2];
  return 0;
}
