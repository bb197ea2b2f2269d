int a[3]:[*], grid:[2][*], plain[3];
int main(void) {
  // error at 11: 'plain' is not a coarray: it has no object in other images
  plain[1]:[2] = 3;
  // error at 15: 'grid' has 2 codimensions, and 1 is given
  int x = grid:[1];
  // error at 11: 'a' has 1 codimension, and 2 are given
  x = a[0]:[1][2];
  // error at 12: an object in another image has no address here
  int *p = &a[1]:[2];
  // error at 7: an array in another image can be used only by its elements or as a section
  p = a:[2];
  return x + *p;
}
