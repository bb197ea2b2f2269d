// options: -O0; -O2
// arrays: 13
// Names that a compiler might want for itself.
#include <stdio.h>
dlm int a[2] = {1, 2}, image_a[2] = {3, 4}, local0_a[2] = {5, 6}, value[3] = {7, 8, 9}, record[1] = {10}, entry[1] = {11};
dlm int start[1] = {12}, compute[1], register_[1], dlm_a[2] = {13, 14}, _dlm_a[2] = {15, 16};
int *p = value, *q[] = {a, image_a, &value[1]};
static int f(void) {
  static dlm int a[1] = {17}, image_a[1] = {18};
  return a[0] + image_a[0] + local0_a[1];
}
int main(void) {
  printf("%d %d %d %d %d %d\n", a[1], image_a[1], local0_a[1], value[2], record[0], entry[0]);
  printf("%d %d %d %d %d\n", start[0], compute[0] + register_[0], dlm_a[1], _dlm_a[1], f());
  printf("%d %d %d %d\n", p[1], *q[0], *q[1], *q[2]);
  return 0;
}
