// Memory of tasks and layouts, as the checker can follow them: all is read and written by words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "layout/layout.h"

// The checker wants every place written and read by accesses of one size. What is copied is an address (8
// bytes), a region (24), or words of 4 bytes.
extern "C" [[gnu::weak]] void* memcpy(void* to, const void* from, size_t n) noexcept {
  if (n == 8 || n == sizeof(tasuki::layout::Region))
    for (size_t i = 0; i < n / 8; i++) static_cast<uint64_t*>(to)[i] = static_cast<const uint64_t*>(from)[i];
  else
    for (size_t i = 0; i < n / 4; i++) static_cast<uint32_t*>(to)[i] = static_cast<const uint32_t*>(from)[i];
  return to;
}

namespace tasuki::layout {

// Of what is packed and copied only the first word of each so many bytes: a message of some KiB has to be
// long, not full.
#ifndef MODEL_STRIDE
#define MODEL_STRIDE 4
#endif

struct Layout {
  bool dense;
};
inline constexpr Layout kBytes{true}, kScattered{false};

inline void copy_words(char* to, const char* from, uint64_t n) {
  for (uint64_t at = 0; at < n; at += MODEL_STRIDE)
    *reinterpret_cast<uint32_t*>(to + at) = *reinterpret_cast<const uint32_t*>(from + at);
}

const Layout* byte_layout() {
  return &kBytes;
}
uint64_t size(const Layout*) {
  return 1;
}
int64_t extent(const Layout*) {
  return 1;
}
uint64_t run_count(const Layout* l) {
  return l->dense ? 1 : 2;
}
bool is_dense(const Region& r, char** start) {
  *start = r.base;
  return r.layout->dense;
}
uint64_t grain(const Region&) {
  return 1;
}
void pack(char* out, const Region& source, uint64_t from, uint64_t n) {
  copy_words(out, source.base + from, n);
}
void unpack(const Region& destination, uint64_t from, uint64_t n, const char* in) {
  copy_words(destination.base + from, in, n);
}
void copy(const Region& destination, const Region& source, uint64_t from, uint64_t n) {
  copy_words(destination.base + from, source.base + from, n);
}
Footprint footprint(const Region&) {
  return {};
}

}  // namespace tasuki::layout
