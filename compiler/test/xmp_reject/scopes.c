struct s {
  // error at 7: the member 'member' cannot be a coarray
  int member[3]:[*];
};
// error at 13: codimensions are not part of a type
typedef int type[3]:[*];
// error at 5: the function 'function' cannot be a coarray
int function(void):[*];
// error at 19: 'each' is thread-local and cannot be a coarray
_Thread_local int each:[*];
int main(void) {
  // error at 7: 'automatic' is an automatic variable: a coarray lives as long as the program
  int automatic[3]:[*];
  static int kept:[*];
  // error at 16: 'moved' is an automatic variable
  register int moved:[*];
  return 0;
}
