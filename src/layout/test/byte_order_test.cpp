// Elements and their byte order against bytes swapped one by one.
#include "layout/byte_order.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tasuki::layout {
namespace {

using Runs = std::vector<std::pair<uint64_t, uint64_t>>;

Runs runs(ElementsBuilder b) {
  Runs out;
  for (const ElementRun& r : b.take().runs) out.emplace_back(r.size, r.count);
  return out;
}

ElementsBuilder pattern(const Runs& list) {
  ElementsBuilder b;
  for (const auto& [size, count] : list) b.append(size, count);
  return b;
}

// By definition: each element of the pattern by itself.
std::string swapped(const std::string& bytes, const Runs& list) {
  std::string out;
  while (out.size() < bytes.size()) {
    for (const auto& [size, count] : list) {
      for (uint64_t i = 0; i < count && out.size() < bytes.size(); i++) {
        std::string element = bytes.substr(out.size(), size);
        out.append(element.rbegin(), element.rend());
      }
    }
  }
  return out;
}

std::string some_bytes(size_t n) {
  std::string s(n, '\0');
  for (size_t i = 0; i < n; i++) s[i] = static_cast<char>(i * 7 + i / 251);
  return s;
}

TEST(Elements, RunsOfOneSizeMerge) {
  ElementsBuilder b;
  b.append(4, 2);
  b.append(4, 3);
  b.append(8, 1);
  EXPECT_EQ(runs(b), (Runs{{4, 5}, {8, 1}}));
}

TEST(Elements, ARepeatedPatternIsKeptOnce) {
  ElementsBuilder b;
  b.append(pattern({{4, 1}, {8, 2}}), 1'000'000);
  EXPECT_TRUE(b.complete());
  EXPECT_EQ(runs(b), (Runs{{4, 1}, {8, 2}}));
}

TEST(Elements, WhatFollowsARepeatedPatternComesOnce) {
  ElementsBuilder b;
  b.append(pattern({{4, 1}, {8, 2}}), 2);
  b.append(2, 1);
  EXPECT_EQ(runs(b), (Runs{{4, 1}, {8, 2}, {4, 1}, {8, 2}, {2, 1}}));
}

TEST(Elements, PatternsThatAreTooLongAreGivenUp) {
  ElementsBuilder b;
  b.append(1, 1);
  b.append(pattern({{4, 1}, {8, 2}}), 1'000'000);
  EXPECT_FALSE(b.complete());
  ElementsBuilder parent;
  parent.append(b, 1);
  EXPECT_FALSE(parent.complete());
}

TEST(Elements, NothingRepeatedIsNothing) {
  ElementsBuilder b;
  b.append(pattern({{4, 1}, {8, 2}}), 0);
  b.append(pattern({}), 5);
  EXPECT_TRUE(b.complete());
  EXPECT_TRUE(runs(b).empty());
}

TEST(ByteSwapper, AnyCutsGiveTheSameBytes) {
  const Runs list{{4, 3}, {1, 5}, {8, 1}, {2, 7}};
  const std::string in = some_bytes(39 * 20), want = swapped(in, list);
  for (uint64_t step = 8; step < 100; step++) {
    const Elements e = pattern(list).take();
    ByteSwapper s(e);
    std::string out(in.size(), '?');
    for (uint64_t done = 0; done < in.size();) {
      const uint64_t n = s.swap(&out[done], &in[done], std::min<uint64_t>(step, in.size() - done));
      ASSERT_GT(n, 0u);
      done += n;
    }
    ASSERT_EQ(out, want) << "in steps of " << step;
  }
}

TEST(ByteSwapper, RegionsArePackedAndUnpackedInElementOrder) {
  // Blocks of 9 bytes, so that elements are cut by blocks, and more bytes than a stage holds.
  struct Release {
    void operator()(const Layout* l) const { release(l); }
  };
  for (const int64_t stride : {13, 9}) {
    const std::unique_ptr<const Layout, Release> l(make_hvector(41 * 8, 9, stride, byte_layout()));
    for (const Runs& list :
         {Runs{{1, 1}}, Runs{{2, 1}}, Runs{{4, 1}}, Runs{{8, 1}}, Runs{{8, 3}, {1, 2}, {2, 5}, {4, 1}}}) {
      const uint64_t count = 12;
      std::string memory = some_bytes(static_cast<size_t>(extent(l.get())) * count);
      const std::string before = memory;
      const Region r{memory.data(), count, l.get()};
      std::string packed(bytes(r), '\0'), out(bytes(r), '\0');
      pack(packed.data(), r, 0, bytes(r));
      const Elements e = pattern(list).take();
      pack_swapped(out.data(), r, e);
      ASSERT_EQ(out, swapped(packed, list));
      for (uint64_t i = 0; i < bytes(r); i++) packed[i] = '\0';
      unpack(r, 0, bytes(r), packed.data());
      ASSERT_NE(memory, before);
      unpack_swapped(r, out.data(), e);
      ASSERT_EQ(memory, before);
    }
  }
}

}  // namespace
}  // namespace tasuki::layout
