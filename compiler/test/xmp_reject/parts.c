int a[9]:[*];
// error at 6: an array assignment is a statement: it must stand in a function
int b[0:3];
// error at 12: an object in another image is not known before the program runs
int *p = &a:[1];
int main(void) {
  // error at 19: a section has three parts at most
  a[0:3] = a[0:3:1:1];
  return 0;
}
