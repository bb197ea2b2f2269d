struct bits { int x; unsigned w : 3; } q[4]:[*], b[4];
int main(void) {
  // error at 12: 'w' is a bit-field, which no section can have
  q[:]:[2].w = 1;
  // error at 10: 'w' is a bit-field, which no section can have
  b[0:2].w = b[2:2].x;
  return q[1]:[2].w;
}
