// struct_size: the size of structures that grow. Such a structure says how many bytes it has, by sizeof in
// the program that has it. A library takes a larger one, of a newer header, and reads the members that it
// knows. It refuses one that is smaller than the first version, or that has a size that no version can have.
#pragma once

#include <cstddef>
#include <string>

namespace tasuki {

// Larger than these structures will ever be, and smaller than any address: in programs that were compiled
// before the structures had sizes, some have an address in its place.
constexpr size_t kMostStructSize = 4096;

// `first`: bytes of the structure's first version.
inline bool is_struct_size(size_t size, size_t first, size_t alignment) {
  return size >= first && size <= kMostStructSize && size % alignment == 0;
}

// A message about a size that is_struct_size() refuses. `what` the structure describes, such as "a coarray";
// `at` is its address: the message names the program or the library that has it.
std::string struct_size_error(const char* what, const void* at, size_t size, size_t first, size_t alignment);

}  // namespace tasuki
