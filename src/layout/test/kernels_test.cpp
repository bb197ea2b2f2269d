// The innermost loops, with every set of instructions that this processor has, against a byte-by-byte loop.
#include "layout/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "layout/test/check.h"

namespace tasuki::layout::testing {
namespace {

class EachInstructions : public ::testing::TestWithParam<Instructions> {
 protected:
  void SetUp() override {
    before_ = instructions();
    if (!use_instructions(GetParam())) GTEST_SKIP() << "this processor lacks these instructions";
  }
  void TearDown() override { use_instructions(before_); }

 private:
  Instructions before_ = Instructions::vectors_of_16;
};
std::string name_of(const ::testing::TestParamInfo<Instructions>& set) {
  const char* const names[] = {"vectors_of_16", "vectors_of_32"};
  return names[static_cast<size_t>(set.param)];
}
INSTANTIATE_TEST_SUITE_P(Kernels, EachInstructions,
                         ::testing::Values(Instructions::vectors_of_16, Instructions::vectors_of_32),
                         name_of);

// One side of a copy: memory with room for `count` blocks, wherever they are.
struct Side {
  std::vector<int64_t> offsets;
  std::vector<int32_t> offsets32;
  std::vector<char> memory;
  char* base = nullptr;
  int64_t stride = 0;
  bool listed = false, wide_list = false;

  void place(uint64_t block, uint64_t misalignment) {
    int64_t low = 0, high = 0;
    for (const int64_t o : offsets) low = std::min(low, o), high = std::max(high, o);
    // Nothing to spare: AddressSanitizer sees a byte too many on either side.
    memory.assign(misalignment + static_cast<uint64_t>(high - low) + block, 0);
    base = memory.data() + misalignment - low;
    offsets32.assign(offsets.begin(), offsets.end());
  }
  Positions positions() const {
    if (!listed) return strided(base, stride);
    return {base, stride, wide_list ? nullptr : offsets32.data(), wide_list ? offsets.data() : nullptr};
  }
};

// Strided (dense, apart, overlapping, backwards) or listed, also with blocks that occur twice or overlap.
Side random_side(Choices& choices, uint64_t block, uint64_t count) {
  Side s;
  const int64_t b = static_cast<int64_t>(block);
  const int64_t strides[] = {b, b + 1, b + 8, 2 * b, b + 200, 1, b / 2, -b, -2 * b - 3, 0};
  s.stride = strides[choices.below(std::size(strides))];
  s.listed = choices.below(2) != 0;
  s.wide_list = choices.below(4) == 0;
  for (uint64_t i = 0; i < count; i++) {
    const int64_t jitter = static_cast<int64_t>(choices.below(2 * block + 1)) - b;
    s.offsets.push_back(static_cast<int64_t>(i) * s.stride + (s.listed ? jitter : 0));
  }
  s.place(block, choices.below(64));
  return s;
}

TEST_P(EachInstructions, MoveTheBytesOfAByteByByteLoopInItsOrder) {
  const uint64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 37, 51};
  Choices choices(4711);
  const auto check = [&](uint64_t block) {
    const uint64_t count = counts[choices.below(std::size(counts))];
    Side to = random_side(choices, block, count), from = random_side(choices, block, count);
    for (char& c : from.memory) c = static_cast<char>(choices.below(256));
    for (char& c : to.memory) c = static_cast<char>(choices.below(256));
    std::vector<char> expected = to.memory;
    char* const expected_base = expected.data() + (to.base - to.memory.data());
    for (uint64_t i = 0; i < count; i++)
      for (uint64_t k = 0; k < block; k++)
        expected_base[to.offsets[i] + static_cast<int64_t>(k)] =
            from.base[from.offsets[i] + static_cast<int64_t>(k)];
    copy_blocks(block, to.positions(), from.positions(), count);
    return to.memory == expected;
  };
  for (int round = 0; round < 8; round++) {
    for (uint64_t block = 1; block <= 300; block++)
      ASSERT_TRUE(check(block)) << "block " << block << " round " << round;
    for (const uint64_t block : {511u, 512u, 513u, 640u, 1023u, 1024u, 1025u, 2000u})
      ASSERT_TRUE(check(block)) << "block " << block << " round " << round;
  }
}

TEST_P(EachInstructions, TreesMatchTheDefinition) {
  for (uint64_t seed = 5000000; seed < 5001000; seed++) {
    Choices choices(seed);
    ASSERT_EQ(check_case(choices, 2000, false), "") << "seed " << seed;
  }
}

TEST_P(EachInstructions, PatternsOfApplicationsMatchTheDefinition) {
  for (uint64_t seed = 0; seed < 100; seed++) {
    Choices choices(seed);
    ASSERT_EQ(check_patterns(choices, false), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace tasuki::layout::testing
