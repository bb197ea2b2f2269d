int a[10]:[*], b[10], *pointers[10];
double frexp(double, int *), x[10];
int main(void) {
  // error at 17: '&' cannot be applied to a section
  pointers[:] = &b[:];
  // error at 23: '&' cannot be applied to a section
  x[:] = frexp(x[:], (&b[:]) + 1);
  // error at 22: '&' cannot be applied to this
  x[:] = frexp(x[:], &b[:] + 1);
  return a[0];
}
