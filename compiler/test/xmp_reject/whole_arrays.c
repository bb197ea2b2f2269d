#include <string.h>
int a[10]:[*], b[10], m[3][4]:[*], c[3][4];
struct s { int v[4]; } o:[*];
int f(int *);
int main(void) {
  // error at 10: this is an array: a value for all elements, or a section, is expected
  b[:] = a:[2];
  // error at 13: this is an array
  c[:][:] = m:[2];
  // error at 12: this is an array
  b[0:4] = o:[2].v;
  // error at 5: an array in another image can be used only by its elements or as a section
  f(a:[2]);
  // error at 13: an array in another image can be used only by its elements or as a section
  memcpy(b, m[1]:[2], sizeof b);
  // error at 12: 'a' has 1 codimension, and 2 are given
  int x = a:[2][3];
  return x + sizeof(a:[2]);
}
