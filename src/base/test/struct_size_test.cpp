#include "base/struct_size.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace tasuki {
namespace {

constexpr size_t kFirst = 104;
const int in_this_program = 0;

std::string error_of(size_t size) {
  return struct_size_error("a coarray", &in_this_program, size, kFirst, 8);
}

TEST(StructSize, TheFirstVersionAndLargerOnesAreTaken) {
  for (size_t size : {kFirst, kFirst + 8, 2 * kFirst, kMostStructSize})
    EXPECT_TRUE(is_struct_size(size, kFirst, 8)) << size;
}

TEST(StructSize, SmallerOnesAreRefused) {
  for (size_t size : {size_t{8}, kFirst - 8}) {
    EXPECT_FALSE(is_struct_size(size, kFirst, 8)) << size;
    EXPECT_NE(error_of(size).find("gives " + std::to_string(size) +
                                  " as its size in bytes, and this library needs 104 or more"),
              std::string::npos)
        << error_of(size);
  }
}

TEST(StructSize, WhatNoStructureHasIsRefused) {
  // Of programs from before the sizes: no pointer, an address, a number of dimensions.
  const auto address = static_cast<size_t>(reinterpret_cast<uintptr_t>(&in_this_program)) / 8 * 8;
  for (size_t size : {size_t{0}, size_t{1}, size_t{3}, kFirst + 1, kFirst + 4, kMostStructSize + 8,
                      size_t{UINT32_MAX} / 8 * 8, address, SIZE_MAX}) {
    EXPECT_FALSE(is_struct_size(size, kFirst, 8)) << size;
    EXPECT_NE(error_of(size).find("which no version of it has"), std::string::npos) << error_of(size);
  }
}

TEST(StructSize, TheMessageSaysWhereAndWhatToDo) {
  const std::string message = error_of(0);
  EXPECT_TRUE(message.starts_with("the record of a coarray in ")) << message;
  EXPECT_NE(message.find("base_test gives"), std::string::npos) << message;
  EXPECT_NE(message.find("compile it again"), std::string::npos) << message;
  // A record on the stack is in no file.
  const int automatic = 0;
  EXPECT_TRUE(struct_size_error("a template", &automatic, 0, kFirst, 8)
                  .starts_with("the record of a template gives"));
}

}  // namespace
}  // namespace tasuki
