// options: -O2
// arguments: one -- two -- --stats=off
// arrays: 1
// The library takes what stands behind the last "--"; the plain program is not given it.
#include <stdio.h>
dlm int a[3];
int main(int argc, char** argv) {
  for (int i = 1; i < argc; i++) printf("%s\n", argv[i]);
  printf("%d\n", argv[argc] == NULL);
  return a[0];
}
