/* Coarrays in device memory: assignments between the memories of hosts and devices of all images, against the same made by one
 * sequential program. With a device of its own (TASUKI_CUDA) a load of the host from device memory would end the program. */
#include "random_sections.h"

enum { kRounds = 300, kMostImages = 8, kRows = 700, kColumns = 1100 };

static char (*field)[kBytes], (*plain)[kBytes];
static int (*large)[kRows][kColumns];
static double(*number);
static const double first_number = 2.5;
static struct tasuki_xmp_coarray records[] = {COARRAY(field, "field"), COARRAY(plain, "plain"),
                                              COARRAY(large, "large"), COARRAY(number, "number")};
static struct tasuki_xmp_coarray* const all[] = {&records[0], &records[1], &records[2], &records[3]};
static void __attribute__((constructor)) register_them(void) {
  for (int i = 0; i < 4; i++) records[i].flags = i == 1 ? 0 : TASUKI_XMP_DEVICE;
  records[3].image = &first_number;
  records[3].image_bytes = sizeof first_number;
  tasuki_xmp_register(all, all + 4);
}

/* What all images hold. */
static char fields[kMostImages + 1][kBytes], devices[kMostImages + 1][kBytes],
    plains[kMostImages + 1][kBytes];
static char locals[kMostImages + 1][kBytes], local[kBytes];
static int apart; /* device memory is not host memory */

/* One operand: memory of `image` (0: this one, without an image), in kind 0 a local array, 1 a coarray without device memory, 2 the host's
 * and 3 the device's part of a coarray with both. */
static struct tasuki_xmp_section at(int kind, const struct section* s, size_t element, int image) {
  char* const memory[] = {local, *plain, *field, *field};
  struct tasuki_xmp_section section = operand(memory[kind], s, element, kind == 0 ? 0 : image);
  if (kind == 3) section.flags |= TASUKI_XMP_DEVICE;
  return section;
}
static char* model(int kind, int image) {
  return kind == 0   ? locals[image]
         : kind == 1 ? plains[image]
         : kind == 2 ? fields[image]
         : apart     ? devices[image]
                     : fields[image];
}

static void compare(int me) {
  char seen[kBytes];
  CHECK(memcmp(local, locals[me], kBytes) == 0);
  CHECK(memcmp(*plain, plains[me], kBytes) == 0);
  CHECK(memcmp(*field, fields[me], kBytes) == 0);
  tasuki_xmp_get(seen, *field, kBytes, me, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
  CHECK(memcmp(seen, model(3, me), kBytes) == 0);
}

static void at_random(int me, int n) {
  const size_t sizes[] = {1, 2, 4, 8, 16, 12, 3};
  for (int image = 1; image <= n; image++)
    for (int i = 0; i < kBytes; i++) {
      fields[image][i] = devices[image][i] = (char)pick(0, 255);
      locals[image][i] = (char)pick(0, 255);
    }
  memcpy(*field, fields[me], kBytes);
  memcpy(local, locals[me], kBytes);
  tasuki_xmp_put(*field, local, kBytes, me, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
  tasuki_xmp_put(*field, fields[me], kBytes, me, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
  xmp_sync_all(NULL);
  for (int round = 0; round < kRounds; round++) {
    const int who = pick(1, n), many = pick(1, 4);
    for (int k = 0; k < many; k++) {
      const size_t element = sizes[pick(0, 6)];
      const int to_kind = pick(0, 3), from_kind = pick(0, 3), to_image = pick(0, n), from_image = pick(0, n),
                scalar = pick(0, 5) == 0;
      const unsigned flags = pick(0, 3) == 0 ? TASUKI_XMP_NONBLOCK : 0;
      const struct section to = choose(element, 0), from = choose(element, scalar ? 1 : to.elements);
      char* target = model(to_kind, to_kind == 0 || to_image == 0 ? who : to_image);
      const char* source = model(from_kind, from_kind == 0 || from_image == 0 ? who : from_image);
      static char read[kBytes];
      for (size_t i = 0; i < to.elements; i++)
        memcpy(read + i * element, source + place_of(&from, scalar ? 0 : i), element);
      for (size_t i = 0; i < to.elements; i++) memcpy(target + place_of(&to, i), read + i * element, element);
      if (me != who) continue;
      const struct tasuki_xmp_section left = at(to_kind, &to, element, to_image);
      struct tasuki_xmp_section right = at(from_kind, &from, element, from_image);
      if (scalar) {
        right.base = (char*)right.base - from.offset + place_of(&from, 0);
        right.dimension = NULL;
        right.dimensions = 0;
      }
      tasuki_xmp_copy(&left, &right, flags, __FILE__, __LINE__);
      if (flags != 0) tasuki_xmp_wait_nonblock(k % 2 == 0, __FILE__, __LINE__);
    }
    xmp_sync_all(NULL);
    if (round % 10 == 9 || round == kRounds - 1) {
      compare(me);
      xmp_sync_all(NULL);
    }
  }
}

static void copy_large(int to_image, unsigned to_flags, void* to, unsigned from_flags, void* from, int rows,
                       int columns, int down) {
  const struct tasuki_xmp_dimension d[2] = {
      {0, rows, 1, kRows, sizeof(int[kColumns])},
      {down ? columns - 1 : 0, columns, down ? -1 : 1, kColumns, sizeof(int)}};
  const struct tasuki_xmp_section left = {to, sizeof(int), d, 2, to_image, to_flags, "large"},
                                  right = {from, sizeof(int), d, 2, 0, from_flags, "large"};
  tasuki_xmp_copy(&left, &right, 0, __FILE__, __LINE__);
}

/* Within one device memory: all is read before anything is written. */
static void shift(int me, int first, int from, int rows) {
  static int seen[kRows][kColumns];
  const struct tasuki_xmp_dimension to_d[2] = {{first, rows, 1, kRows, sizeof(int[kColumns])},
                                               {1, kColumns - 1, 1, kColumns, sizeof(int)}},
                                    from_d[2] = {{from, rows, 1, kRows, sizeof(int[kColumns])},
                                                 {0, kColumns - 1, 1, kColumns, sizeof(int)}};
  for (int i = 0; i < kRows; i++)
    for (int k = 0; k < kColumns; k++) seen[i][k] = i * kColumns + k;
  tasuki_xmp_put(*large, seen, sizeof seen, me, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
  const struct tasuki_xmp_section left = {*large, sizeof(int), to_d, 2, 0, TASUKI_XMP_DEVICE, "large"},
                                  right = {*large, sizeof(int), from_d, 2, 0, TASUKI_XMP_DEVICE, "large"};
  tasuki_xmp_copy(&left, &right, 0, __FILE__, __LINE__);
  tasuki_xmp_get(seen, *large, sizeof seen, me, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
  for (int i = 0; i < kRows; i++)
    for (int k = 0; k < kColumns; k++) {
      const int moved = i >= first && i < first + rows && k > 0;
      CHECK(seen[i][k] == (moved ? (i - first + from) * kColumns + k - 1 : i * kColumns + k));
    }
}

/* More than one part of everything: rows, parts of rows, all; from either memory to either. */
static void in_parts(int me, int n) {
  static int host[kRows][kColumns], seen[kRows][kColumns];
  const int next = me % n + 1, before = me == 1 ? n : me - 1;
  for (int i = 0; i < kRows; i++)
    for (int k = 0; k < kColumns; k++) host[i][k] = (i * kColumns + k) * 8 + me;
  for (int way = 0; way < 4; way++) {
    const int columns = way % 2 == 0 ? kColumns : kColumns - 7, down = way == 3;
    const int negative = way + 1;
    tasuki_xmp_copy(&(struct tasuki_xmp_section){*large, sizeof(int),
                                                 (const struct tasuki_xmp_dimension[]){
                                                     {0, kRows * kColumns, 1, kRows * kColumns, sizeof(int)}},
                                                 1, 0, TASUKI_XMP_DEVICE, "large"},
                    &(struct tasuki_xmp_section){(void*)&negative, sizeof(int), NULL, 0, 0, 0, ""}, 0,
                    __FILE__, __LINE__);
    xmp_sync_all(NULL);
    copy_large(next, TASUKI_XMP_REMOTE | TASUKI_XMP_DEVICE, *large, 0, host, kRows, columns, down);
    xmp_sync_all(NULL);
    tasuki_xmp_get(seen, *large, sizeof seen, me, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
    for (int i = 0; i < kRows; i++)
      for (int k = 0; k < kColumns; k++)
        CHECK(seen[i][k] == (k < columns ? (i * kColumns + k) * 8 + before : negative));
    xmp_sync_all(NULL);
    /* From device to device, and on to the host of the next one. */
    tasuki_xmp_get(*large, *large, sizeof *large, next, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
    CHECK((*large)[kRows - 1][3] == ((kRows - 1) * kColumns + 3) * 8 + me);
    xmp_sync_all(NULL);
    copy_large(next, TASUKI_XMP_REMOTE, *large, TASUKI_XMP_DEVICE, *large, kRows, columns, down);
    xmp_sync_all(NULL);
    for (int i = 0; i < kRows; i++)
      for (int k = 0; k < columns; k++)
        CHECK((*large)[i][k] ==
              (i * kColumns + k) * 8 + (apart ? (before == 1 ? n : before - 1) : (*large)[0][0] % 8));
    xmp_sync_all(NULL);
  }
}

/* Allocated, used and given back, twice. */
static void allocated(int me, int n) {
  enum { WORDS = 5000 };
  static int host[WORDS], seen[WORDS];
  const struct tasuki_xmp_descriptor described = {.kind = TASUKI_XMP_KIND_COARRAY,
                                                  .struct_size = sizeof described,
                                                  .dimensions = 1,
                                                  .element = sizeof(int),
                                                  .size = {0},
                                                  .name = "p",
                                                  .file = __FILE__,
                                                  .line = __LINE__,
                                                  .flags = TASUKI_XMP_DEVICE};
  const int next = me % n + 1, before = me == 1 ? n : me - 1;
  for (int round = 0; round < 2; round++) {
    int* p = xmp_malloc(&described, (size_t)2 * WORDS);
    CHECK((tasuki_xmp_device_address(p) != p) == apart);
    for (int i = 0; i < WORDS; i++) host[i] = i + 10000 * me + round;
    tasuki_xmp_put(p, host, sizeof host, next, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
    xmp_sync_all(NULL);
    tasuki_xmp_get(seen, p, sizeof seen, me, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
    for (int i = 0; i < WORDS; i++) CHECK(seen[i] == i + 10000 * before + round && (!apart || p[i] == 0));
    xmp_sync_all(NULL);
    /* From device to device. */
    tasuki_xmp_get(p + WORDS, p, sizeof host, next, TASUKI_XMP_DEVICE | TASUKI_XMP_DEVICE_LOCAL, __FILE__,
                   __LINE__);
    xmp_sync_all(NULL);
    tasuki_xmp_get(seen, p + WORDS, sizeof seen, me, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
    CHECK(seen[WORDS - 1] == WORDS - 1 + 10000 * me + round);
    xmp_sync_all(NULL);
    xmp_free(p);
  }
}

/* What an MPI library is asked that takes addresses of the device; the fake driver can let this one. */
int MPIX_Query_cuda_support(void) {
  const char* open = getenv("TASUKI_TEST_CUDA_OPEN");
  return open != NULL && *open == '1';
}

int main(int argc, char** argv) {
  if (tasuki_xmp_main_begin(&argc, &argv) != 0) return 1;
  const int me = xmp_this_image(), n = xmp_num_images(), next = me % n + 1;
  apart = tasuki_xmp_device_address(*field) != *field;
  CHECK(apart == (argc > 1 && strcmp(argv[1], "apart") == 0));
  CHECK((char*)tasuki_xmp_device_address(*field + 7) == (char*)tasuki_xmp_device_address(*field) + 7);
  CHECK(tasuki_xmp_device_address(&argc) == &argc);
  double got = 0;
  const double mine = me;
  GET(got, *number, next, TASUKI_XMP_DEVICE);
  CHECK(got == 2.5);
  xmp_sync_all(NULL);
  PUT(*number, mine, next, TASUKI_XMP_DEVICE | TASUKI_XMP_TEMPORARY);
  GET(got, *number, next, TASUKI_XMP_DEVICE);
  CHECK(got == me && (!apart || *number == 2.5));
  xmp_sync_all(NULL);
  /* One's own device memory as the local operand. */
  GET(*number, *number, next, TASUKI_XMP_DEVICE);
  if (apart) CHECK(*number == me);
  xmp_sync_all(NULL);
  GET(got, *number, me, TASUKI_XMP_DEVICE | TASUKI_XMP_NONBLOCK);
  tasuki_xmp_wait_nonblock(1, __FILE__, __LINE__);
  if (apart) CHECK(got == (me == 1 ? n : me - 1));
  xmp_sync_all(NULL);
  if (apart) {
    tasuki_xmp_put(&(*large)[1][0], &*number, sizeof(double), next,
                   TASUKI_XMP_DEVICE | TASUKI_XMP_DEVICE_LOCAL, __FILE__, __LINE__);
    xmp_sync_all(NULL);
    tasuki_xmp_get(&got, &(*large)[1][0], sizeof got, me, TASUKI_XMP_DEVICE, __FILE__, __LINE__);
    const int before = me == 1 ? n : me - 1;
    CHECK(got == (before == 1 ? n : before - 1));
    xmp_sync_all(NULL);
    shift(me, 3, 3, 1);
    shift(me, 1, 0, 20);
    shift(me, 0, 1, 20);
    xmp_sync_all(NULL);
    in_parts(me, n);
  }
  allocated(me, n);
  state = 1;
  at_random(me, n);
  return 0;
}
