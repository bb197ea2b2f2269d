/* A sum over images for the local view, by recursive doubling: in step s an image exchanges what it has
 * with the one whose number in the group differs in bit s; all have the same sum then, to the last bit.
 * Those beyond the largest power of two give theirs to another first. */
#ifndef IMAGE_SUM_H
#define IMAGE_SUM_H

#include <xmp.h>

/* What partners have put, [.][0] of those beyond the power of two. Two sets in turn, as one image may have
 * begun the next sum while its partner has yet to read this one. */
static double sum_part[2][32]:[*];

/* Of images first .. first + count - 1: all of them call this, the same sums in the same order. */
static double image_sum(double mine, int first, int count) {
  static int turn = 0;
  const int me = xmp_this_image() - first;
  int power = 1;
  while (power * 2 <= count) power *= 2;
  turn = !turn;
  if (me >= power) {
    const int partner = first + me - power;
    sum_part[turn][0]:[partner] = mine;
    xmp_sync_image(partner, NULL);
    xmp_sync_image(partner, NULL); /* the sum is there */
    return sum_part[turn][0];
  }
  if (me + power < count) {
    xmp_sync_image(first + me + power, NULL);
    mine += sum_part[turn][0];
  }
  for (int step = 1; 1 << step <= power; step++) {
    const int partner = first + (me ^ 1 << (step - 1));
    sum_part[turn][step]:[partner] = mine;
    xmp_sync_image(partner, NULL);
    mine += sum_part[turn][step];
  }
  if (me + power < count) {
    sum_part[turn][0]:[first + me + power] = mine;
    xmp_sync_image(first + me + power, NULL);
  }
  return mine;
}
#endif
