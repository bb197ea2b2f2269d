/* Objects of other images: put, get, their order, coarrays with initial values. */
#include "coarray.h"

struct thing {
  char c;
  double d;
  int n[5];
};

static int (*numbers)[40];
static double(*number);
static struct thing (*things)[3];
static char (*large)[300000];
static int* (*pointers)[2];

static const int first_numbers[5] = {1, 2, 3, 4, 5};
static void compute(void) {
  (*pointers)[1] = &(*numbers)[7];
}

static struct tasuki_xmp_coarray records[] = {COARRAY(numbers, "numbers"), COARRAY(number, "number"),
                                              COARRAY(things, "things"), COARRAY(large, "large"),
                                              COARRAY(pointers, "pointers"),
                                              /* a tentative definition and a real one are one coarray */
                                              COARRAY(number, "number")};
static struct tasuki_xmp_coarray* const all[] = {&records[0], &records[1], &records[2], NULL,
                                                 &records[3], &records[4], &records[5]};

static void __attribute__((constructor)) register_them(void) {
  records[0].image = first_numbers;
  records[0].image_bytes = sizeof first_numbers;
  records[2].alignment = 16384;
  records[4].compute = compute;
  tasuki_xmp_register(all, all + sizeof all / sizeof all[0]);
  tasuki_xmp_register(all, all + 2); /* known already */
}

static void initial(void) {
  for (int i = 0; i < 40; i++) CHECK((*numbers)[i] == (i < 5 ? i + 1 : 0));
  CHECK(*number == 0);
  CHECK((size_t)things % 16384 == 0);
  CHECK((*pointers)[0] == NULL && (*pointers)[1] == &(*numbers)[7]);
  for (size_t i = 0; i < sizeof *large; i++) CHECK((*large)[i] == 0);
}

int main(int argc, char** argv) {
  if (tasuki_xmp_main_begin(&argc, &argv) != 0) return 1;
  const int me = xmp_this_image(), n = xmp_num_images();
  CHECK(me >= 1 && me <= n && me == xmp_node_num() && xmpc_this_image() == me - 1);
  CHECK(xmp_all_num_nodes() == n && xmp_all_node_num() == me && xmpc_all_node_num() == me - 1);
  CHECK(xmp_wtick() > 0 && xmp_wtime() <= xmp_wtime());
  initial();
  xmp_sync_all(NULL);

  /* Everyone writes its own element in all images. */
  for (int image = 1; image <= n; image++) {
    const int value = 100 * image + me;
    PUT((*numbers)[me], value, image, 0);
  }
  int status = -1;
  xmp_sync_all(&status);
  CHECK(status == XMP_STAT_SUCCESS);
  for (int image = 1; image <= n; image++) CHECK((*numbers)[image] == 100 * me + image);

  /* An image sees its own puts in program order, however they are put. */
  const int next = me % n + 1;
  for (int round = 0; round < 200; round++) {
    for (unsigned flags = 0; flags <= 2; flags++) {
      int value = round * 3 + (int)flags, other = -value, got = 0;
      PUT((*numbers)[20], other, next, flags | TASUKI_XMP_TEMPORARY);
      PUT((*numbers)[20], value, next, flags | TASUKI_XMP_TEMPORARY);
      GET(got, (*numbers)[20], next, 0);
      CHECK(got == value);
      const int later = 7;
      PUT((*numbers)[20], later, next, 0);
      CHECK(got == value);
    }
  }

  /* A temporary may change at once, a variable after a put without nonblock, too. */
  int value = 5;
  PUT((*numbers)[21], value, next, TASUKI_XMP_NONBLOCK | TASUKI_XMP_TEMPORARY);
  value = 6;
  PUT((*numbers)[22], value, next, TASUKI_XMP_NONBLOCK_REMOTE);
  value = 7;
  PUT((*numbers)[23], value, next, 0);
  value = 8;
  xmp_sync_all(NULL);
  CHECK((*numbers)[21] == 5 && (*numbers)[22] == 6 && (*numbers)[23] == 7 && value == 8);

  /* Nonblocking gets are complete after wait_nonblock. */
  struct thing thing = {(char)me, me / 2.0, {me, 2, 3, 4, 5}}, got = {0};
  PUT((*things)[1], thing, next, 0);
  const double half = me * 0.5;
  PUT(*number, half, next, 0);
  xmp_sync_all(NULL);
  double far = 0;
  for (int local = 0; local <= 1; local++) {
    memset(&got, 0, sizeof got);
    GET(got, (*things)[1], next, TASUKI_XMP_NONBLOCK);
    GET(far, *number, next, TASUKI_XMP_NONBLOCK);
    tasuki_xmp_wait_nonblock(local, __FILE__, __LINE__);
    CHECK(got.n[0] == me && got.d == me / 2.0 && got.c == (char)me && far == half);
  }
  xmp_sync_all(NULL);

  /* More than one piece of everything. */
  static char out[300000], in[300000];
  for (size_t i = 0; i < sizeof out; i++) out[i] = (char)(i * 7 + (size_t)me);
  for (size_t bytes = 1; bytes <= sizeof out; bytes = bytes * 3 + 1) {
    tasuki_xmp_put(*large + 3, out, bytes < sizeof out - 3 ? bytes : sizeof out - 3, next, 0, __FILE__,
                   __LINE__);
    memset(in, 0, sizeof in);
    tasuki_xmp_get(in, *large + 3, bytes < sizeof out - 3 ? bytes : sizeof out - 3, next, 0, __FILE__,
                   __LINE__);
    CHECK(memcmp(in, out, bytes < sizeof out - 3 ? bytes : sizeof out - 3) == 0);
  }
  xmp_sync_all(NULL);
  const int before = me == 1 ? n : me - 1;
  for (size_t i = 0; i < 30000; i++) CHECK((*large)[i + 3] == (char)(i * 7 + (size_t)before));
  return 0;
}
