#include "coarray/index/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tasuki/compiler/local_view.h"

namespace tasuki::coarray {
namespace {

using Dimensions = std::vector<tasuki_xmp_dimension>;

tasuki_xmp_section section_of(const Dimensions& d, size_t element, unsigned flags = 0) {
  return {nullptr, element, d.data(), static_cast<int>(d.size()), 0, flags, "a"};
}

// The addresses of all elements, in order: from the brackets as they are written, ...
std::vector<int64_t> written(const Dimensions& d) {
  std::vector<int64_t> all = {0};
  for (const auto& dimension : d) {
    std::vector<int64_t> finer;
    for (int64_t at : all)
      for (int64_t i = 0; i < dimension.length; i++)
        finer.push_back(at +
                        (dimension.lower + i * dimension.stride) * static_cast<int64_t>(dimension.bytes));
    all = finer;
  }
  return all;
}

// ... and all bytes from the shape.
std::vector<int64_t> bytes_of(const Extent& extent) {
  std::vector<int64_t> all = {extent.first};
  for (int i = 0; i < extent.shape.depth; i++) {
    std::vector<int64_t> finer;
    for (int64_t at : all)
      for (int64_t n = 0; n < extent.shape.levels[i].count; n++)
        finer.push_back(at + n * extent.shape.levels[i].stride);
    all = finer;
  }
  std::vector<int64_t> bytes;
  for (int64_t at : all)
    for (uint64_t b = 0; b < extent.shape.block; b++) bytes.push_back(at + static_cast<int64_t>(b));
  return bytes;
}

TEST(Shape, holds_the_bytes_of_the_section_in_its_order) {
  std::mt19937 random(7);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  for (int round = 0; round < 5000; round++) {
    const size_t element = static_cast<size_t>(pick(1, 9));
    Dimensions d(static_cast<size_t>(pick(0, 5)));
    size_t bytes = element;
    for (size_t i = d.size(); i-- > 0;) {
      const int extent = pick(1, 5), stride = pick(1, 3);
      const int length = pick(1, (extent - 1) / stride + 1), room = extent - 1 - (length - 1) * stride;
      const bool down = pick(0, 1) == 1;
      const int lower = pick(0, room);
      d[i] = {down ? lower + (length - 1) * stride : lower, length, down ? -stride : stride,
              static_cast<size_t>(extent), bytes};
      bytes *= static_cast<size_t>(extent);
    }
    Extent extent;
    std::string problem;
    ASSERT_TRUE(measure(section_of(d, element, TASUKI_XMP_CHECK), &extent, &problem)) << problem;
    const std::vector<int64_t> elements = written(d), got = bytes_of(extent);
    std::vector<int64_t> expected;
    for (int64_t at : elements)
      for (size_t b = 0; b < element; b++) expected.push_back(at + static_cast<int64_t>(b));
    ASSERT_EQ(extent.elements, elements.size());
    ASSERT_EQ(extent.shape.bytes(), expected.size());
    ASSERT_EQ(got, expected);
    ASSERT_EQ(extent.low, *std::min_element(expected.begin(), expected.end()));
    ASSERT_EQ(extent.high, *std::max_element(expected.begin(), expected.end()) + 1);
  }
}

TEST(Shape, whole_rows_are_one_block) {
  Extent extent;
  std::string problem;
  ASSERT_TRUE(measure(section_of({{2, 3, 1, 10, 80}, {0, 10, 1, 10, 8}}, 8), &extent, &problem));
  EXPECT_TRUE(extent.shape.dense());
  EXPECT_EQ(extent.shape.block, 240U);
  EXPECT_EQ(extent.first, 160);
}

TEST(Shape, columns_of_rows_that_follow_each_other_are_one_level) {
  Extent extent;
  std::string problem;
  ASSERT_TRUE(
      measure(section_of({{0, 4, 1, 4, 96}, {0, 3, 1, 3, 32}, {1, 1, 1, 4, 8}}, 8), &extent, &problem));
  EXPECT_EQ(extent.shape.depth, 1);
  EXPECT_EQ(extent.shape.levels[0].count, 12);
  EXPECT_EQ(extent.shape.levels[0].stride, 32);
}

TEST(Shape, an_omitted_length_goes_to_the_end_in_the_direction_of_the_stride) {
  const auto count = [](ptrdiff_t lower, ptrdiff_t stride) {
    Extent extent;
    std::string problem;
    EXPECT_TRUE(measure(section_of({{lower, PTRDIFF_MIN, stride, 10, 4}}, 4), &extent, &problem)) << problem;
    return extent.elements;
  };
  EXPECT_EQ(count(0, 1), 10U);
  EXPECT_EQ(count(3, 1), 7U);
  EXPECT_EQ(count(0, 3), 4U);
  EXPECT_EQ(count(9, -1), 10U);
  EXPECT_EQ(count(8, -4), 3U);
  EXPECT_EQ(count(10, 1), 0U);
}

TEST(Shape, nothing_is_nothing) {
  Extent extent;
  std::string problem;
  ASSERT_TRUE(
      measure(section_of({{5, 0, 1, 4, 8}, {0, 2, 1, 2, 4}}, 4, TASUKI_XMP_CHECK), &extent, &problem));
  EXPECT_EQ(extent.elements, 0U);
  EXPECT_EQ(extent.shape.bytes(), 0U);
}

TEST(Shape, what_is_wrong_is_said) {
  const auto problem_of = [](const tasuki_xmp_dimension& d, unsigned flags) {
    Extent extent;
    std::string problem;
    EXPECT_FALSE(measure(section_of({d}, 4, flags), &extent, &problem));
    return problem;
  };
  EXPECT_NE(problem_of({0, 5, 2, 8, 4}, TASUKI_XMP_CHECK).find("reaches element 8"), std::string::npos);
  EXPECT_NE(problem_of({-1, 5, 1, 8, 4}, TASUKI_XMP_CHECK).find("reaches element -1"), std::string::npos);
  EXPECT_NE(problem_of({3, 5, -1, 8, 4}, TASUKI_XMP_CHECK).find("reaches element -1"), std::string::npos);
  EXPECT_NE(problem_of({0, 5, 0, 8, 4}, 0).find("stride 0"), std::string::npos);
  EXPECT_NE(problem_of({0, -2, 1, 8, 4}, 0).find("length -2"), std::string::npos);
  EXPECT_NE(problem_of({0, PTRDIFF_MIN, 1, 0, 4}, 0).find("no known size"), std::string::npos);
}

}  // namespace
}  // namespace tasuki::coarray
