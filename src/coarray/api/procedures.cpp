// The transformational procedures of xmp.h, which has macros of the same names: they say where the call is,
// and end lists with a null pointer.
#include <cstdarg>
#include <vector>

#include "coarray/api/runtime.h"
#include "tasuki/compiler/global_view.h"

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

namespace {

std::vector<xmp_desc_t> list_of(va_list arguments) {
  std::vector<xmp_desc_t> result;
  while (xmp_desc_t d = va_arg(arguments, xmp_desc_t)) result.push_back(d);
  return result;
}

}  // namespace

extern "C" {

EXPORT void tasuki_xmp_called_at(const char* file, int line) {
  runtime().procedures.called_at = {file, line};
}

EXPORT void(xmp_scatter)(xmp_desc_t x, xmp_desc_t a, ...) {
  va_list arguments;
  va_start(arguments, a);
  const std::vector<xmp_desc_t> indices = list_of(arguments);
  va_end(arguments);
  runtime().procedures.scatter(x, a, indices);
}

EXPORT void(xmp_gather)(xmp_desc_t x, xmp_desc_t a, ...) {
  va_list arguments;
  va_start(arguments, a);
  const std::vector<xmp_desc_t> indices = list_of(arguments);
  va_end(arguments);
  runtime().procedures.gather(x, a, indices);
}

EXPORT void(xmp_pack)(xmp_desc_t v, xmp_desc_t a, xmp_desc_t mask, ...) {
  runtime().procedures.pack(v, a, mask);
}

EXPORT void(xmp_unpack)(xmp_desc_t a, xmp_desc_t v, xmp_desc_t mask, ...) {
  runtime().procedures.unpack(a, v, mask);
}

EXPORT void(xmp_transpose)(xmp_desc_t x, xmp_desc_t a, int) {
  runtime().procedures.transpose(x, a);
}

EXPORT void(xmp_matmul)(xmp_desc_t x, xmp_desc_t a, xmp_desc_t b) {
  runtime().procedures.matmul(x, a, b);
}

EXPORT void(xmp_sort_up)(xmp_desc_t v1, xmp_desc_t v2) {
  runtime().procedures.sort_up(v1, v2);
}

EXPORT void(xmp_sort_down)(xmp_desc_t v1, xmp_desc_t v2) {
  runtime().procedures.sort_down(v1, v2);
}

}  // extern "C"
