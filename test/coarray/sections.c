/* Random sections of arrays of up to 7 dimensions between images, against the same assignments made element by element in one
 * sequential program that every image runs for all of them. */
#include "random_sections.h"

enum { kRounds = 400, kMostImages = 8 };

static char (*field)[kBytes];
static struct tasuki_xmp_coarray record = COARRAY(field, "field");
static struct tasuki_xmp_coarray* const all[] = {&record};
static void __attribute__((constructor)) register_it(void) {
  tasuki_xmp_register(all, all + 1);
}

/* What all images hold: their coarray, and a local array each. */
static char fields[kMostImages + 1][kBytes], locals[kMostImages + 1][kBytes];
static char local[kBytes];

int main(int argc, char** argv) {
  if (tasuki_xmp_main_begin(&argc, &argv) != 0) return 1;
  const int me = xmp_this_image(), n = xmp_num_images();
  const size_t sizes[] = {1, 2, 4, 8, 16, 12, 3};
  state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  for (int image = 1; image <= n; image++)
    for (int i = 0; i < kBytes; i++) {
      fields[image][i] = (char)pick(0, 255);
      locals[image][i] = (char)pick(0, 255);
    }
  memcpy(*field, fields[me], kBytes);
  memcpy(local, locals[me], kBytes);
  xmp_sync_all(NULL);
  for (int round = 0; round < kRounds; round++) {
    /* Some assignments of one image between two barriers. */
    const int who = pick(1, n), many = pick(1, 4);
    for (int k = 0; k < many; k++) {
      const size_t element = sizes[pick(0, 6)];
      const int to_image = pick(0, n), from_image = pick(0, n), scalar = pick(0, 5) == 0;
      /* Local memory must not be used before a nonblocking transfer is complete. */
      const unsigned flags = pick(0, 3) == 0   ? TASUKI_XMP_NONBLOCK
                             : pick(0, 3) == 0 ? TASUKI_XMP_NONBLOCK_REMOTE
                                               : 0;
      const struct section to = choose(element, 0), from = choose(element, scalar ? 1 : to.elements);
      char* target = to_image == 0 ? locals[who] : fields[to_image];
      const char* source = from_image == 0 ? locals[who] : fields[from_image];
      static char read[kBytes];
      for (size_t i = 0; i < to.elements; i++)
        memcpy(read + i * element, source + place_of(&from, scalar ? 0 : i), element);
      for (size_t i = 0; i < to.elements; i++) memcpy(target + place_of(&to, i), read + i * element, element);
      if (me != who) continue;
      const struct tasuki_xmp_section left = operand(to_image == 0 ? local : *field, &to, element, to_image);
      struct tasuki_xmp_section right = operand(from_image == 0 ? local : *field, &from, element, from_image);
      CHECK(tasuki_xmp_elements(&left, __FILE__, __LINE__) == to.elements);
      if (scalar) {
        right.base = (from_image == 0 ? local : *field) + place_of(&from, 0);
        right.dimension = NULL;
        right.dimensions = 0;
      }
      tasuki_xmp_copy(&left, &right, flags, __FILE__, __LINE__);
      if ((flags & TASUKI_XMP_NONBLOCK) != 0) tasuki_xmp_wait_nonblock(k % 2 == 0, __FILE__, __LINE__);
    }
    xmp_sync_all(NULL);
    if (round % 10 == 9 || round == kRounds - 1) {
      CHECK(memcmp(*field, fields[me], kBytes) == 0);
      CHECK(memcmp(local, locals[me], kBytes) == 0);
      xmp_sync_all(NULL);
    }
  }
  return 0;
}
