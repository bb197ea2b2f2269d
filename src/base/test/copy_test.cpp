#include "base/copy.h"

#include <gtest/gtest.h>

#include <vector>

namespace tasuki {
namespace {

TEST(Copy, MovesExactlyTheBytesAtEveryDistanceAndLength) {
  constexpr size_t kRoom = 20000;
  std::vector<char> from(kRoom), to(kRoom);
  for (size_t i = 0; i < kRoom; i++) from[i] = static_cast<char>(i * 131 + i / 251);
  for (const size_t length : {0, 1, 127, 128, 129, 255, 256, 257, 2047, 2048, 2049, 4095, 4096, 4225, 8191})
    for (size_t target : {0, 1, 7, 8, 63, 64, 65, 4096})
      for (const bool by_vectors : {false, true}) {
        std::fill(to.begin(), to.end(), '#');
        if (by_vectors)
          copy_by_vectors(&to[target + 1], &from[1], length);
        else
          copy_run(&to[target + 1], &from[1], length);
        for (size_t i = 0; i < kRoom; i++)
          ASSERT_EQ(to[i], i > target && i <= target + length ? from[i - target] : '#')
              << length << " bytes, target " << target << ", at " << i;
      }
}

TEST(Copy, MovesWithinOnePlace) {
  for (const size_t target : {0, 4090, 4100, 4104, 8200, 12300}) {
    std::vector<char> memory(30000);
    for (size_t i = 0; i < memory.size(); i++) memory[i] = static_cast<char>(i * 131 + i / 251);
    const std::vector<char> before = memory;
    move_run(&memory[target], &memory[4096], 9000);
    for (size_t i = 0; i < memory.size(); i++)
      ASSERT_EQ(memory[i], i >= target && i < target + 9000 ? before[i - target + 4096] : before[i])
          << target;
  }
}

TEST(Copy, KnowsTheDistancesThatAreSlow) {
  std::vector<char> memory(3 * 4096);
  char* const at = memory.data() + 4096;
  EXPECT_FALSE(is_slow_for_memcpy(at, at, 4096));
  EXPECT_TRUE(is_slow_for_memcpy(at + 1, at, 4096));
  EXPECT_TRUE(is_slow_for_memcpy(at + 63, at, 4096));
  EXPECT_FALSE(is_slow_for_memcpy(at + 64, at, 4096));
  EXPECT_FALSE(is_slow_for_memcpy(at, at + 8, 4096));
  EXPECT_TRUE(is_slow_for_memcpy(at + 4096 + 8, at, 4096));
  EXPECT_TRUE(is_slow_for_memcpy(at - 4096 + 8, at, 4096));
  EXPECT_FALSE(is_slow_for_memcpy(at + 8, at, 2048));
}

}  // namespace
}  // namespace tasuki
