#include "cluster/transport/packed.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace tasuki::cluster {
namespace {

// Units of zeros, of short repeats, of noise, by turns.
std::vector<std::byte> mixed(uint32_t units, size_t unit) {
  std::vector<std::byte> data(units * unit);
  std::mt19937 random(7);
  for (uint32_t u = 0; u < units; u++)
    for (size_t i = 0; i < unit; i++)
      data[u * unit + i] = static_cast<std::byte>(u % 3 == 0 ? 0 : u % 3 == 1 ? i % 100 : random());
  return data;
}

TEST(Packed, ComesBackAndIsSmallerWhereItCanBe) {
  for (const size_t unit : {size_t{4096}, size_t{65536}, size_t{2} << 20}) {
    const uint32_t units = 7;
    const std::vector<std::byte> data = mixed(units, unit);
    std::vector<std::byte> packed(packed_most(units, unit)), back(data.size());
    const size_t bytes = pack(data.data(), units, unit, packed.data());
    ASSERT_LE(bytes, packed.size());
    EXPECT_LT(bytes, 3 * unit);  // two of noise, little else
    EXPECT_GT(bytes, 2 * unit);
    ASSERT_TRUE(unpack(packed.data(), bytes, units, unit, back.data()));
    EXPECT_EQ(memcmp(data.data(), back.data(), data.size()), 0);
  }
}

TEST(Packed, OnlyNoiseFits) {
  std::vector<std::byte> data(4 * 4096), packed(packed_most(4, 4096)), back(data.size());
  std::mt19937 random(3);
  for (std::byte& b : data) b = static_cast<std::byte>(random());
  EXPECT_EQ(pack(data.data(), 4, 4096, packed.data()), packed.size());
  EXPECT_TRUE(unpack(packed.data(), packed.size(), 4, 4096, back.data()));
  EXPECT_EQ(data, back);
}

TEST(Packed, DamagedBytesAreFoundOrHarmless) {
  const uint32_t units = 4;
  const size_t unit = 4096;
  const std::vector<std::byte> data = mixed(units, unit);
  std::vector<std::byte> packed(packed_most(units, unit)), back(data.size());
  const size_t bytes = pack(data.data(), units, unit, packed.data());
  EXPECT_FALSE(unpack(packed.data(), bytes - 1, units, unit, back.data()));
  EXPECT_FALSE(unpack(packed.data(), 3, units, unit, back.data()));
  EXPECT_FALSE(unpack(packed.data(), bytes, units - 1, unit, back.data()));
  std::mt19937 random(11);
  for (int i = 0; i < 2000; i++) {  // never beyond the buffers: for the sanitizers
    std::vector<std::byte> damaged(packed.begin(), packed.begin() + static_cast<ptrdiff_t>(bytes));
    damaged[random() % bytes] ^= static_cast<std::byte>(1 + random() % 255);
    unpack(damaged.data(), bytes, units, unit, back.data());
  }
}

}  // namespace
}  // namespace tasuki::cluster
