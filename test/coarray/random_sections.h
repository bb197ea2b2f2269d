/* Sections at random of arrays of up to 7 dimensions, and where their elements are. */
#ifndef TEST_COARRAY_RANDOM_SECTIONS_H
#define TEST_COARRAY_RANDOM_SECTIONS_H

#include "coarray.h"

enum { kDimensions = 7, kBytes = 6000 };

static unsigned long long state;
static int pick(int from, int to) { /* the same numbers in all images */
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return from + (int)((state >> 33) % (unsigned long long)(to - from + 1));
}

struct section {
  struct tasuki_xmp_dimension d[kDimensions];
  int dimensions;
  int offset; /* of the array in its memory */
  size_t elements;
};

/* Brackets of an array that fits, with `count` elements if that is possible (count 0: any). */
static struct section choose(size_t element, size_t count) {
  for (int attempt = 0;; attempt++) {
    struct section s;
    memset(&s, 0, sizeof s);
    s.dimensions = pick(1, kDimensions);
    s.elements = 1;
    size_t bytes = element;
    for (int i = s.dimensions - 1; i >= 0; i--) {
      const int extent = count != 0 && attempt > 50 ? (i == s.dimensions - 1 ? (int)count + pick(0, 3) : 1)
                                                    : pick(1, s.dimensions > 3 ? 4 : 9);
      const int stride = count != 0 && attempt > 50 ? 1 : pick(1, 3), most = (extent - 1) / stride + 1;
      const int length = count != 0 && attempt > 50 ? (i == s.dimensions - 1 ? (int)count : 1)
                                                    : (pick(0, 3) == 0 ? most : pick(1, most));
      const int lower = pick(0, extent - 1 - (length - 1) * stride), down = pick(0, 2) == 0;
      s.d[i].lower = down ? lower + (length - 1) * stride : lower;
      s.d[i].length = length;
      s.d[i].stride = down ? -stride : stride;
      s.d[i].extent = (size_t)extent;
      s.d[i].bytes = bytes;
      bytes *= (size_t)extent;
      s.elements *= (size_t)length;
    }
    if (bytes > kBytes / 2 || (count != 0 && s.elements != count)) continue;
    s.offset = pick(0, (int)((kBytes - bytes) / element)) * (int)element;
    return s;
  }
}

static size_t place_of(const struct section* s, size_t element) {
  ptrdiff_t at = s->offset;
  for (int i = s->dimensions - 1; i >= 0; i--) {
    const ptrdiff_t index = (ptrdiff_t)(element % (size_t)s->d[i].length);
    element /= (size_t)s->d[i].length;
    at += (s->d[i].lower + index * s->d[i].stride) * (ptrdiff_t)s->d[i].bytes;
  }
  return (size_t)at;
}

static struct tasuki_xmp_section operand(char* memory, const struct section* s, size_t element, int image) {
  struct tasuki_xmp_section section = {memory + s->offset,
                                       element,
                                       s->d,
                                       s->dimensions,
                                       image,
                                       TASUKI_XMP_CHECK | (image != 0 ? TASUKI_XMP_REMOTE : 0),
                                       "field"};
  return section;
}

#endif
