// Pages of which several servers have a part each: any of these that suffice give the page.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>
#include <vector>

#include "base/log.h"
#include "cluster/test/fake_servers.h"
#include "cluster/transport/page_parts.h"

namespace tasuki::cluster {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Redundancy kCodes[] = {{3, 2}, {4, 2}, {6, 2}, {5, 4}, {6, 4}, {8, 4}, {9, 8}, {12, 8}};

Bytes draw_bytes(std::mt19937& random, size_t count) {
  Bytes bytes(count);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

std::unique_ptr<ReedSolomon> load(Redundancy redundancy) {
  Result<std::unique_ptr<ReedSolomon>> code = ReedSolomon::load(redundancy);
  EXPECT_TRUE(code.ok()) << code.status().message();
  return std::move(code.value());
}

// Multiplication in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1, by its definition.
uint8_t times(uint8_t a, uint8_t b) {
  uint32_t product = 0;
  for (uint32_t bit = 0; bit < 8; bit++)
    if ((b >> bit & 1) != 0) product ^= uint32_t{a} << bit;
  for (uint32_t bit = 15; bit >= 8; bit--)
    if ((product >> bit & 1) != 0) product ^= 0x11du << (bit - 8);
  return static_cast<uint8_t>(product);
}

uint8_t inverse(uint8_t a) {
  uint32_t b = 1;
  while (times(a, static_cast<uint8_t>(b)) != 1) b++;
  return static_cast<uint8_t>(b);
}

// What stands at servers is read by other builds, too: part i is the sum of 1 / (i + j) times part j.
TEST(ErasureCode, PartsAreTheSumsOfACauchyMatrix) {
  std::mt19937 random(1);
  for (const Redundancy redundancy : kCodes) {
    const PageParts parts(load(redundancy), 4096);
    const size_t bytes = redundancy.part(4096);
    const Bytes page = draw_bytes(random, 4096);
    Bytes buffer(parts.bytes_to_cut(1));
    const std::byte* at[Redundancy::kMostCopies];
    parts.cut(page.data(), 1, buffer.data(), at);
    for (uint32_t part = 0; part < redundancy.copies; part++)
      for (size_t b = 0; b < bytes; b += 37) {
        uint8_t sum = 0;
        for (uint32_t j = 0; j < redundancy.needed; j++)
          sum ^= times(part < redundancy.needed ? part == j : inverse(static_cast<uint8_t>(part ^ j)),
                       std::to_integer<uint8_t>(page[j * bytes + b]));
        ASSERT_EQ(std::to_integer<uint8_t>(at[part][b]), sum) << "part " << part;
      }
  }
}

// Of a page and of runs of pages, and each other part as well.
TEST(ErasureCode, AnyPartsThatSufficeGiveThePages) {
  constexpr size_t kPage = 4096;
  std::mt19937 random(2);
  for (const Redundancy redundancy : kCodes) {
    const PageParts parts(load(redundancy), kPage);
    for (const uint32_t pages : {1u, 2u, 5u}) {
      const size_t bytes = pages * redundancy.part(kPage);
      const Bytes original = draw_bytes(random, pages * kPage);
      Bytes buffer(parts.bytes_to_cut(pages));
      const std::byte* at[Redundancy::kMostCopies];
      parts.cut(original.data(), pages, buffer.data(), at);
      for (uint32_t have = 0; have < 1u << redundancy.copies; have++) {
        if (static_cast<uint32_t>(std::popcount(have)) != redundancy.needed) continue;
        Bytes got(pages * kPage), scratch(parts.bytes_to_join(pages, have));
        std::byte* to[Redundancy::kMostCopies];
        parts.lay_out(got.data(), pages, have, scratch.data(), to);
        ReedSolomon::Parts numbers = {};
        const std::byte* from[Redundancy::kMostNeeded];
        for (uint32_t part = 0, n = 0; part < redundancy.copies; part++) {
          if ((have >> part & 1) == 0) continue;
          memcpy(to[part], at[part], bytes);
          numbers[n] = static_cast<uint8_t>(part);
          from[n++] = at[part];
        }
        parts.join(got.data(), pages, have, scratch.data());
        ASSERT_TRUE(got == original) << pages << " pages, parts " << have;
        const uint32_t other = random() % redundancy.copies;
        Bytes one(bytes);
        parts.code().compute(other, bytes, numbers, from, one.data());
        ASSERT_EQ(memcmp(one.data(), at[other], bytes), 0) << "part " << other << " of " << have;
      }
    }
  }
}

std::vector<uint32_t> draw_order(std::mt19937& random, size_t servers) {
  std::vector<uint32_t> order(servers);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

// As many at once as there are parts to spare, at any moment, and as many again when these are made again.
TEST(ErasureCode, AsManyLossesAsPartsToSpare) {
  set_log_level(LogLevel::error);
  size_t ended = 0;
  for (uint32_t seed = 1; seed <= 80 && !HasFailure(); seed++) {
    std::mt19937 random(seed);
    const Redundancy redundancy = kCodes[seed % std::size(kCodes)];
    const size_t servers = redundancy.copies + random() % 5;
    Program program(draw_capacities(random, servers, 150), draw_fill(random), seed, redundancy);
    const uint64_t slots = 8 + random() % 56;
    ASSERT_TRUE(program.store().reserve(slots).ok());
    Status status = program.run(300, slots);
    std::vector<uint32_t> left = draw_order(random, servers);
    while (left.size() > redundancy.needed && status.ok()) {
      const size_t spare = std::min<size_t>(redundancy.copies, left.size()) - redundancy.needed;
      for (size_t i = 0; i < spare && status.ok(); i++) {
        program.courier().end(left.back());
        left.pop_back();
        ended++;
        status = program.run(static_cast<int>(random() % 40), slots);
      }
      if (status.ok()) status = program.verify();
    }
    ASSERT_TRUE(status.ok()) << seed << ", " << left.size() << " left: " << status.message();
    program.courier().end(left.back());
    EXPECT_FALSE(program.run(1000, slots).ok()) << "too few are left";
  }
  EXPECT_GT(ended, 200u);
}

// Those that leave hand their parts on as long as enough others are there, whatever is lost meanwhile.
TEST(ErasureCode, ServersGoInAnyOrder) {
  set_log_level(LogLevel::error);
  size_t gone = 0;
  for (uint32_t seed = 1; seed <= 150 && !HasFailure(); seed++) {
    std::mt19937 random(seed);
    const Redundancy redundancy = kCodes[seed % std::size(kCodes)];
    const std::vector<uint64_t> room = draw_capacities(random, redundancy.copies + random() % 4, 200);
    Program program(room, draw_fill(random), seed, redundancy);
    uint32_t lost = 0;
    const auto lose = [&](uint32_t server) {
      if (program.courier().alive(server) && lost < redundancy.copies - redundancy.needed) {
        program.courier().end(server);
        lost++;
      }
      return Status();
    };
    go_through_steps(program, seed, random, lose, &gone);
  }
  EXPECT_GT(gone, 150u);
}

// Two of those that have parts leave, one after the other, where most of what servers have is not promised.
TEST(ErasureCode, WhoLeavesHandsItsPartsOn) {
  set_log_level(LogLevel::error);
  for (uint32_t seed = 1; seed <= 40 && !HasFailure(); seed++) {
    std::mt19937 random(seed);
    const Redundancy redundancy = kCodes[seed % std::size(kCodes)];
    const size_t servers = redundancy.copies + 2;
    Program program(std::vector<uint64_t>(servers, 300), draw_fill(random), seed, redundancy);
    const uint64_t slots = 60;
    ASSERT_TRUE(program.store().reserve(slots).ok());
    Status status = program.run(300, slots);
    const std::vector<uint32_t> order = draw_order(random, servers);
    for (const uint32_t server : {order[0], order[1]}) {
      program.courier().ask_to_leave(server);
      if (status.ok()) status = program.run(static_cast<int>(random() % 100), slots);
      if (status.ok()) status = program.settle();
      ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
      ASSERT_FALSE(program.courier().alive(server)) << seed << ": server " << server << " stays";
    }
    status = program.verify();
    ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
  }
}

// All slots are in use: what is lost cannot be made again, and is computed whenever it is read.
TEST(ErasureCode, WithoutRoomPagesHaveFewerParts) {
  set_log_level(LogLevel::error);
  for (uint32_t seed = 1; seed <= 20 && !HasFailure(); seed++) {
    Program program({64, 64, 70, 64, 64, 64}, seed % 2 == 0 ? Fill::rank : Fill::interleave, seed, {6, 4});
    const uint64_t slots = program.store().slots();
    EXPECT_EQ(slots, 64u);
    ASSERT_TRUE(program.run(2000, slots).ok());
    program.courier().end(seed % 6);
    Status status = program.run(500, slots);
    program.courier().end((seed + 1 + seed % 5) % 6);
    if (status.ok()) status = program.run(500, slots);
    if (status.ok()) status = program.verify();
    ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
  }
}

// All slots are promised and few in use when a server is lost: what is put after that survives the loss of
// another one, though the parts of those few have been made again.
TEST(ErasureCode, WhatIsPutAfterOneLossSurvivesTheNext) {
  set_log_level(LogLevel::error);
  for (uint32_t seed = 1; seed <= 40 && !HasFailure(); seed++) {
    Program program({64, 64, 64, 64, 64}, seed % 2 == 0 ? Fill::rank : Fill::interleave, seed, {4, 2});
    const uint64_t slots = program.store().slots();
    ASSERT_TRUE(program.store().reserve(slots).ok());
    Status status = program.run(100, slots / 4);
    program.courier().end(seed % 5);
    if (status.ok()) status = program.settle();
    for (uint64_t slot = 0; slot < slots && status.ok(); slot++) status = program.put_and_settle(slot);
    program.courier().end((seed + 1 + seed % 4) % 5);
    if (status.ok()) status = program.verify();
    ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
  }
}

}  // namespace
}  // namespace tasuki::cluster
