// References to other images wherever C has a value or an lvalue.
#include "check.h"
struct inner { short h; char name[6]; };
struct outer { int x; struct inner in[2]; double d; };
int a[10]:[*], s:[*], b:[*];
struct outer o:[*], os[3]:[*];
double d[4]:[*];
struct bits { char before; unsigned w : 3; int v : 5; _Bool flag : 1; long wide : 41; char after; } bits:[*];
struct { struct { int x; unsigned h : 3; } in[2]; } many:[*];
long big:[*];
static int calls;
static int next(void) { return calls++; }
static int twice(int x) { return 2 * x; }
static int own[2];
static int *place(void) { calls++; return own; }
int main(void) {
  const int r = RIGHT;
  int x, y = 3;
  a[3]:[r] = 7;
  x = a[3]:[r] + 1;
  CHECK(x == 8);
  a[4]:[r] = a[5]:[r] = a[3]:[r] * 2;
  CHECK(a[4]:[r] == 14 && a[5]:[r] == 14);
  x = (s:[r] = 9) + 1;
  CHECK(x == 10 && s:[r] == 9);
  (a[6]):[r] = 5, (a[7]:[r]) = 6;
  CHECK(a[6]:[r] == 5 && a[7]:[r] == 6);
  a[1]:[r] += 4;
  a[1]:[r] <<= 2;
  a[1]:[r] -= 1, a[1]:[r] *= 2, a[1]:[r] /= 3, a[1]:[r] %= 7, a[1]:[r] |= 8, a[1]:[r] ^= 1, a[1]:[r] &= 15, a[1]:[r] >>= 1;
  CHECK(a[1]:[r] == ((((16 - 1) * 2 / 3 % 7) | 8) ^ 1) >> 1);
  a[2]:[r] = 10;
  x = a[2]:[r]++;
  CHECK(x == 10 && a[2]:[r] == 11);
  x = ++a[2]:[r];
  CHECK(x == 12 && a[2]:[r]-- == 12 && --a[2]:[r] == 10);
  // What is written once is computed once.
  calls = 0;
  a[next()]:[r] = next();
  CHECK(calls == 2);
  a[next() - 2 + 8]:[r] += next();
  CHECK(calls == 4);
  place()[1]++;
  CHECK(calls == 5);
  a[next() - 5]:[next() - 6 + r]++;
  CHECK(calls == 7);
  // Of types with members.
  o.in[1].h:[r] = 12;
  o:[r].in[0].h = 13;
  CHECK(o.in[1].h:[r] == 12 && o:[r].in[0].h == 13 && o:[r].in[1].h + 1 == 13);
  o:[r].d = y;
  o:[r].d /= 2;
  CHECK(o.d:[r] == 1.5);
  struct outer copy = o:[r];
  CHECK(copy.in[1].h == 12 && copy.d == 1.5);
  copy.x = 77, strcpy(copy.in[0].name, "name");
  os[2]:[r] = copy;
  CHECK(os[2]:[r].x == 77 && os[2].in[0].name[2]:[r] == 'm');
  os[1]:[r] = (struct outer){.x = 5, .d = 0.5};
  CHECK(os[1]:[r].x == 5 && os[1]:[r].d == .5);
  // Bit-fields, with what shares bytes with them.
  bits:[r] = (struct bits){.before = 1, .w = 5, .v = -3, .flag = 1, .wide = 1L << 39, .after = 77};
  CHECK(bits:[r].w == 5 && bits:[r].v == -3 && bits:[r].flag && bits:[r].wide == 1L << 39);
  bits:[r].w = y, bits:[r].v += 10;
  x = bits:[r].w++ + (bits:[r].v = 7) + --bits:[r].v;
  CHECK(x == 3 + 7 + 6 && bits:[r].w == 4 && (bits:[r].flag = 0) == 0);
  bits:[r].wide >>= 38;
  (bits:[r].w) = bits:[r].w + 9;
  CHECK(bits:[r].wide == 2 && bits:[r].w == 5 && bits.before:[r] == 1 && bits:[r].after == 77 && bits:[r].v == 6);
  x = 9;
  many:[r].in[y - 2].h = many:[r].in[1].h = x;
  CHECK(many:[r].in[1].h == 1 && !bits:[r].flag && bits:[r].v++ == 6);
  x = bits:[r].v;
  CHECK(x == 7 && sizeof(bits:[r].v + 0) == sizeof(int));
  // In all places.
  d[0]:[r] = y, big:[r] = -1;
  CHECK(d[0]:[r] == 3.0 && big:[r] == -1L && !(big:[r] > 0));
  if (s:[r]) x = 1;
  else x = 2;
  CHECK(x == 1);
  a[0]:[r] = 0;
  for (a[0]:[r] = 0; a[0]:[r] < 4; a[0]:[r]++) x += a[0]:[r];
  CHECK(x == 7);
  while (a[0]:[r] > 0) a[0]:[r]--;
  do a[0]:[r] += 2;
  while (a[0]:[r] < 5);
  switch (a[0]:[r]) {
    case 6: x = 60; break;
    default: x = 0;
  }
  CHECK(x == 60);
  int from = a[0]:[r], many[2] = {a[0]:[r], twice(a[0]:[r])}, vla[a[0]:[r]];
  CHECK(from == 6 && many[1] == 12 && sizeof vla == 6 * sizeof(int));
  b:[r] = 2;
  x = a[b:[r] * 3 - 6]:[b:[r] - 2 + r];
  CHECK(x == 6);
  x = b:[r] ? s:[r] : a[0]:[r];
  CHECK(x == 9 && (y > 2 && s:[r] == 9) && ((void)b:[r], s:[r]) == 9);
  x = y > 5 ? a[1]:[99] : 4;
  CHECK(x == 4);
  x = -s:[r] + ~b:[r] + !s:[r] + (int)d[0]:[r];
  CHECK(x == -9 - 3 + 0 + 3);
  CHECK(twice(({ int k = s:[r]; k + 1; })) == 20);
  CHECK(sizeof(a:[r]) == sizeof a && sizeof a[0]:[r] == sizeof(int));
  goto label;
label: s:[r] = 8;
  CHECK(s:[r] == 8);
  xmp_sync_all(NULL);
  // Put by the left neighbour.
  if (xmp_num_images() > 1 && s:[LEFT] == 8) CHECK(s == 8 && o.d == 1.5);
  xmp_sync_all(NULL);
  return 0;
}
