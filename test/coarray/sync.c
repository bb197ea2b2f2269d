/* Images that wait for each other: pairs, sets, all; post and wait; images that have left. */
#include <unistd.h>

#include "coarray.h"

enum { kMost = 64 };
static int (*seen)[kMost];
static int (*box)[4];
static struct tasuki_xmp_coarray records[] = {COARRAY(seen, "seen"), COARRAY(box, "box")};
static struct tasuki_xmp_coarray* const all[] = {&records[0], &records[1]};
static void __attribute__((constructor)) register_them(void) {
  tasuki_xmp_register(all, all + 2);
}

static int me, n;

/* A value goes around the ring, one image after the other. */
static void ring(void) {
  const int next = me % n + 1, before = me == 1 ? n : me - 1;
  for (int round = 1; round <= 50; round++) {
    if (me > 1) xmp_sync_image(before, NULL);
    const int value = me == 1 ? round * 1000 : (*box)[0] + 1;
    PUT((*box)[0], value, next, 0);
    if (me < n) xmp_sync_image(next, NULL);
    /* Back to the beginning. */
    xmp_sync_all(NULL);
    if (me == 1) CHECK((*box)[0] == (n == 1 ? round * 1000 : round * 1000 + n - 1));
    xmp_sync_all(NULL);
  }
}

/* Neighbours, in sets whose order differs. */
static void neighbours(void) {
  const int next = me % n + 1, before = me == 1 ? n : me - 1;
  int set[2] = {me % 2 == 0 ? next : before, me % 2 == 0 ? before : next};
  const int count = n == 1 ? 1 : n == 2 ? 1 : 2;
  for (int round = 1; round <= 100; round++) {
    PUT((*box)[1], round, next, 0);
    PUT((*box)[2], round, before, 0);
    int status = -1;
    xmp_sync_images(count, set, &status);
    CHECK(status == XMP_STAT_SUCCESS);
    CHECK((*box)[1] == round && (*box)[2] == round);
    xmp_sync_images(count, set, NULL);
  }
  xmp_sync_images(0, NULL, NULL);
  int twice[2] = {next, next}, status = -1;
  xmp_sync_images(2, twice, &status);
  CHECK(status == XMP_STAT_ERROR);
  xmp_sync_image(n + 1, &status);
  CHECK(status == XMP_STAT_ERROR);
  xmp_sync_image(0, &status);
  CHECK(status == XMP_STAT_ERROR);
}

static void everyone(void) {
  for (int round = 1; round <= 20; round++) {
    for (int image = 1; image <= n; image++) PUT((*seen)[me], round, image, 0);
    if (round % 2 == 0)
      xmp_sync_images_all(NULL);
    else
      xmp_sync_all(NULL);
    for (int image = 1; image <= n; image++) CHECK((*seen)[image] == round);
    xmp_sync_images_all(NULL);
  }
}

/* Many posts before the first wait, of more tags than are quick, waited for in another order. */
static void posts(void) {
  enum { kTags = 40, kEach = 30 };
  const int next = me % n + 1, before = me == 1 ? n : me - 1;
  for (int i = 0; i < kEach; i++)
    for (int tag = 0; tag < kTags; tag++) tasuki_xmp_post(next, tag - 5, __FILE__, __LINE__);
  for (int tag = kTags - 1; tag >= 0; tag--)
    for (int i = 0; i < kEach - 2; i++) tasuki_xmp_wait(before, tag - 5, __FILE__, __LINE__);
  for (int tag = 0; tag < kTags; tag++) tasuki_xmp_wait_node(before, __FILE__, __LINE__);
  for (int tag = 0; tag < kTags; tag++) tasuki_xmp_wait_any(__FILE__, __LINE__);
  xmp_sync_all(NULL);
  /* What was put before the post is there after the wait. */
  for (int round = 1; round <= 300; round++) {
    PUT((*box)[3], round, next, 0);
    tasuki_xmp_post(next, 1, __FILE__, __LINE__);
    tasuki_xmp_wait(before, 1, __FILE__, __LINE__);
    CHECK((*box)[3] == round);
    tasuki_xmp_post(before, 2, __FILE__, __LINE__);
    tasuki_xmp_wait(next, 2, __FILE__, __LINE__);
  }
}

/* The last image leaves: the others hear of it. */
static void leaving(void) {
  if (n == 1 || me == n) return;
  int status = -1;
  usleep(me == 1 ? 50000 : 0);
  xmp_sync_image(n, &status);
  CHECK(status == XMP_STAT_STOPPED_IMAGE);
  xmp_sync_all(&status);
  CHECK(status == XMP_STAT_STOPPED_IMAGE);
  int last = n;
  xmp_sync_images(1, &last, &status);
  CHECK(status == XMP_STAT_STOPPED_IMAGE);
  for (int image = 1; image < n; image++) {
    if (image == me) continue;
    xmp_sync_image(image, &status);
    CHECK(status == XMP_STAT_SUCCESS);
  }
  int value = 0;
  GET(value, (*box)[3], n, 0);
  CHECK(value == 300);
}

int main(int argc, char** argv) {
  if (tasuki_xmp_main_begin(&argc, &argv) != 0) return 1;
  me = xmp_this_image();
  n = xmp_num_images();
  ring();
  xmp_sync_all(NULL);
  neighbours();
  xmp_sync_all(NULL);
  everyone();
  xmp_sync_all(NULL);
  posts();
  xmp_sync_all(NULL);
  leaving();
  return 0;
}
