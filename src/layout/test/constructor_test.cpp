// Each constructor by examples with the values written out, and the normal forms that they must reach.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "layout/layout.h"

namespace tasuki::layout {
namespace {

struct Release {
  void operator()(const Layout* l) const { release(l); }
};
using Ptr = std::unique_ptr<const Layout, Release>;

Ptr dense(uint64_t n) {
  return Ptr(make_dense(n));
}
Ptr contiguous(uint64_t n, const Ptr& c) {
  return Ptr(make_contiguous(n, c.get()));
}
Ptr hvector(uint64_t n, uint64_t length, int64_t stride, const Ptr& c) {
  return Ptr(make_hvector(n, length, stride, c.get()));
}
Ptr indexed_block(uint64_t length, const std::vector<int64_t>& d, const Ptr& c) {
  return Ptr(make_hindexed_block(d.size(), length, d.data(), c.get()));
}
Ptr indexed(const std::vector<uint64_t>& lengths, const std::vector<int64_t>& d, const Ptr& c) {
  return Ptr(make_hindexed(d.size(), lengths.data(), d.data(), c.get()));
}
Ptr structure(const std::vector<uint64_t>& lengths, const std::vector<int64_t>& d,
              const std::vector<const Layout*>& children) {
  return Ptr(make_struct(d.size(), lengths.data(), d.data(), children.data()));
}
Ptr resized(int64_t lower, int64_t extent, const Ptr& c) {
  return Ptr(make_resized(lower, extent, c.get()));
}
Ptr subarray(const std::vector<int64_t>& sizes, const std::vector<int64_t>& sub,
             const std::vector<int64_t>& starts, char order, const Ptr& c) {
  return Ptr(
      make_subarray(static_cast<int>(sizes.size()), sizes.data(), sub.data(), starts.data(), order, c.get()));
}

std::string text(const Ptr& l) {
  std::string s(describe(l.get(), nullptr, 0), '\0');
  describe(l.get(), s.data(), s.size() + 1);
  return s;
}

// The runs of `count` elements at origin 0 as offset and length.
using Runs = std::vector<std::pair<int64_t, uint64_t>>;
Runs runs(const Ptr& l, uint64_t count = 1) {
  Runs out;
  const Region r{nullptr, count, l.get()};
  for_each_run(
      r, 0, bytes(r),
      [](void* context, char* address, uint64_t length) {
        static_cast<Runs*>(context)->push_back(
            {static_cast<int64_t>(reinterpret_cast<intptr_t>(address)), length});
        return true;
      },
      &out);
  return out;
}

void expect_bounds(const Ptr& l, int64_t lower, int64_t ext, int64_t true_lower, int64_t true_ext) {
  EXPECT_EQ(lower_bound(l.get()), lower);
  EXPECT_EQ(extent(l.get()), ext);
  EXPECT_EQ(true_lower_bound(l.get()), true_lower);
  EXPECT_EQ(true_extent(l.get()), true_ext);
}

TEST(LayoutConstructors, Byte) {
  const Layout* b = byte_layout();
  EXPECT_EQ(size(b), 1u);
  EXPECT_EQ(extent(b), 1);
  EXPECT_EQ(retain(b), b);
  release(b);
  release(b);
  release(b);  // no-ops: it is static
  char text[3] = "ab", out[3] = "";
  pack(out, {text, 2, b}, 0, 2);
  EXPECT_STREQ(out, "ab");
}

TEST(LayoutConstructors, Contiguous) {
  const Ptr l = contiguous(3, resized(0, 10, dense(4)));
  EXPECT_EQ(size(l.get()), 12u);
  expect_bounds(l, 0, 30, 0, 24);
  EXPECT_EQ(runs(l, 2), (Runs{{0, 4}, {10, 4}, {20, 4}, {30, 4}, {40, 4}, {50, 4}}));
  EXPECT_EQ(text(contiguous(5, contiguous(7, dense(4)))), "140 B, extent 140 B");
}

TEST(LayoutConstructors, VectorWithNegativeStride) {
  const Ptr l = hvector(3, 2, -16, dense(4));
  EXPECT_EQ(size(l.get()), 24u);
  expect_bounds(l, -32, 40, -32, 40);
  EXPECT_EQ(runs(l), (Runs{{0, 8}, {-16, 8}, {-32, 8}}));
}

TEST(LayoutConstructors, IndexedKeepsTypeMapOrder) {
  const Ptr l = indexed({1, 0, 2, 1}, {32, 1000, 8, 0}, dense(4));
  EXPECT_EQ(runs(l), (Runs{{32, 4}, {8, 8}, {0, 4}}));
  expect_bounds(l, 0, 36, 0, 36);
  EXPECT_EQ(run_count(l.get()), 3u);
  EXPECT_EQ(typical_run(l.get()), 5u);
}

TEST(LayoutConstructors, SameBytesTwiceOnTheSendSide) {
  const Ptr l = indexed_block(1, {8, 0, 8, 8}, dense(4));
  char memory[12] = "abcdefghijk", out[17] = "";
  pack(out, {memory, 1, l.get()}, 0, 16);
  EXPECT_EQ(std::string(out, 16), std::string("ijk\0abcdijk\0ijk\0", 16));
  const Ptr still = hvector(3, 1, 0, dense(2));
  pack(out, {memory, 1, still.get()}, 0, 6);
  EXPECT_EQ(std::string(out, 6), "ababab");
}

TEST(LayoutConstructors, Struct) {
  const Ptr four = dense(4), eight = dense(8), one = dense(1);
  const Ptr l = structure({1, 2, 3}, {0, 8, 30}, {four.get(), eight.get(), one.get()});
  EXPECT_EQ(runs(l), (Runs{{0, 4}, {8, 16}, {30, 3}}));
  expect_bounds(l, 0, 33, 0, 33);
  // Children that touch become one run, whatever they were.
  EXPECT_EQ(text(structure({1, 1, 1}, {0, 4, 12}, {four.get(), eight.get(), one.get()})),
            "13 B, extent 13 B");
}

TEST(LayoutConstructors, ExplicitBoundsAreSticky) {
  // MPI-4.1, section 5.1.6: markers anywhere inside decide the bounds, the other children do not.
  const Ptr marked = resized(-4, 16, dense(4)), plain = dense(100);
  const Ptr l = structure({1, 1}, {0, 50}, {marked.get(), plain.get()});
  expect_bounds(l, -4, 16, 0, 150);
  // A marker of an empty type counts as well, unless it occurs zero times.
  const Ptr empty = resized(-8, 64, contiguous(0, dense(4)));
  expect_bounds(structure({1, 1}, {0, 0}, {empty.get(), plain.get()}), -8, 64, 0, 100);
  expect_bounds(structure({0, 1}, {0, 0}, {empty.get(), plain.get()}), 0, 100, 0, 100);
  // resized replaces what was there.
  expect_bounds(resized(1, 2, l), 1, 2, 0, 150);
  expect_bounds(contiguous(3, marked), -4, 48, 0, 36);
  expect_bounds(hvector(3, 1, -100, marked), -204, 216, -200, 204);
}

TEST(LayoutConstructors, NegativeExtent) {
  const Ptr back = resized(0, -8, dense(4));
  EXPECT_EQ(runs(contiguous(3, back)), (Runs{{0, 4}, {-8, 4}, {-16, 4}}));
  expect_bounds(contiguous(3, back), -16, 8, -16, 20);
}

TEST(LayoutConstructors, Subarray) {
  const Ptr c = subarray({4, 6}, {2, 3}, {1, 2}, 'C', dense(8));
  expect_bounds(c, 0, 192, 64, 72);
  EXPECT_EQ(runs(c), (Runs{{64, 24}, {112, 24}}));
  const Ptr f = subarray({6, 4}, {3, 2}, {2, 1}, 'F', dense(8));
  EXPECT_EQ(text(c), text(f));
  EXPECT_EQ(text(subarray({4, 6}, {4, 6}, {0, 0}, 'C', dense(8))), "192 B, extent 192 B");
}

TEST(LayoutConstructors, EmptyTypes) {
  const Ptr none = contiguous(0, dense(8));
  for (const Ptr& l :
       {hvector(5, 0, 100, dense(4)), hvector(0, 3, 100, dense(4)), indexed({0, 0}, {4, 9}, dense(4)),
        indexed_block(3, {}, dense(1)), structure({}, {}, {}), contiguous(7, none), dense(0)}) {
    EXPECT_EQ(size(l.get()), 0u);
    expect_bounds(l, 0, 0, 0, 0);
    EXPECT_EQ(run_count(l.get()), 0u);
    EXPECT_EQ(typical_run(l.get()), 0u);
    char c = 'x', *start = nullptr;
    const Region r{&c, 5, l.get()};
    EXPECT_TRUE(is_dense(r, &start));
    pack(&c, r, 0, 0);
    unpack(r, 0, 0, &c);
    copy(r, r, 0, 0);
    EXPECT_EQ(c, 'x');
  }
  // Empty children leave no trace in a struct.
  const Ptr four = dense(4);
  EXPECT_EQ(text(structure({3, 1, 2}, {0, 0, 8}, {none.get(), four.get(), none.get()})), "4 B, extent 4 B");
}

TEST(LayoutConstructors, NormalFormsMeet) {
  const std::string matrix = "vector 6 x 24 B stride 100 B, extent 524 B";
  EXPECT_EQ(text(hvector(6, 1, 100, contiguous(3, dense(8)))), matrix);
  EXPECT_EQ(text(hvector(6, 3, 100, dense(8))), matrix);
  EXPECT_EQ(text(hvector(6, 3, 100, contiguous(2, dense(4)))), matrix);
  EXPECT_EQ(text(hvector(3, 1, 200, hvector(2, 3, 100, dense(8)))), matrix);
  EXPECT_EQ(text(indexed_block(3, {0, 100, 200, 300, 400, 500}, dense(8))), matrix);
  EXPECT_EQ(text(indexed({3, 3, 3, 3, 3, 3}, {0, 100, 200, 300, 400, 500}, dense(8))), matrix);
  EXPECT_EQ(text(indexed({1, 2, 3, 3, 1, 1, 1, 3, 3}, {0, 8, 100, 200, 300, 308, 316, 400, 500}, dense(8))),
            matrix);
  const Ptr row = dense(24), two = hvector(2, 1, 100, row), three = hvector(3, 1, 100, row);
  EXPECT_EQ(text(structure({1, 1, 1}, {0, 200, 500}, {two.get(), three.get(), row.get()})), matrix);
  // A grid is found in a list.
  std::vector<int64_t> grid;
  for (int64_t i = 0; i < 5; i++)
    for (int64_t j = 0; j < 4; j++) grid.push_back(1000 * i + 16 * j);
  EXPECT_EQ(text(indexed_block(1, grid, dense(8))), text(hvector(5, 1, 1000, hvector(4, 1, 16, dense(8)))));
}

TEST(LayoutConstructors, HugeCountsCostNothing) {
  // 2^40 blocks: the description must not grow with them, and any place must be reached at once.
  const Ptr l = resized(0, 0, hvector(uint64_t{1} << 40, 1, 0, dense(2)));
  EXPECT_EQ(size(l.get()), uint64_t{1} << 41);
  EXPECT_EQ(run_count(l.get()), uint64_t{1} << 40);
  char memory[2] = {'a', 'b'}, out[6] = {};
  pack(out, {memory, uint64_t{1} << 20, l.get()}, (uint64_t{1} << 60) - 1, 5);
  EXPECT_EQ(std::string(out, 5), "babab");
  EXPECT_EQ(make_contiguous(uint64_t{1} << 62, l.get()), nullptr);  // no 64-bit size
  EXPECT_EQ(make_dense(~uint64_t{0}), nullptr);
}

TEST(LayoutConstructors, MillionBlocks) {
  constexpr uint64_t n = 1000000;
  std::vector<int64_t> d(n);
  for (uint64_t i = 0; i < n; i++) d[i] = static_cast<int64_t>(i * 8 + (i * i % 7 == 3 ? 4 : 0));
  const Ptr l = indexed_block(1, d, dense(4));
  ASSERT_EQ(size(l.get()), 4 * n);
  std::vector<char> memory(8 * n), out(4 * n), wanted(4 * n);
  for (size_t i = 0; i < memory.size(); i++) memory[i] = static_cast<char>(i * 31 >> 3);
  for (uint64_t i = 0; i < n; i++) std::memcpy(&wanted[4 * i], &memory[static_cast<uint64_t>(d[i])], 4);
  pack(out.data(), {memory.data(), 1, l.get()}, 0, 4 * n);
  EXPECT_EQ(out, wanted);
}

TEST(LayoutConstructors, DeepNestsOfEveryKind) {
  // Deeper than any fixed limit: a struct in a struct in a struct, each with one more byte in front.
  Ptr l = dense(1);
  constexpr int64_t kDepth = 3000;
  for (int64_t i = 0; i < kDepth; i++) {
    const Ptr byte = dense(1);
    l = structure({1, 1}, {0, 2}, {byte.get(), l.get()});
    ASSERT_NE(l, nullptr);
  }
  ASSERT_EQ(size(l.get()), static_cast<uint64_t>(kDepth + 1));
  EXPECT_EQ(run_count(l.get()), static_cast<uint64_t>(kDepth + 1));
  std::vector<char> memory(2 * kDepth + 1), out(kDepth + 1);
  for (size_t i = 0; i < memory.size(); i++) memory[i] = static_cast<char>(i);
  pack(out.data(), {memory.data(), 1, l.get()}, 0, out.size());
  for (size_t i = 0; i < out.size(); i++) ASSERT_EQ(out[i], static_cast<char>(2 * i));

  // Vectors of two, strides that never merge, as deep as 64 bits allow, with a struct at each level.
  l = dense(1);
  int64_t reach = 1;
  for (int i = 0; i < 24; i++) {
    const Ptr byte = dense(1);
    const Ptr pair = hvector(2, 1, reach + 1, l);
    l = structure({1, 1}, {0, 2}, {byte.get(), pair.get()});
    reach = true_extent(l.get());
  }
  const uint64_t n = size(l.get());
  const Region r{nullptr, 1, l.get()};
  uint64_t seen = 0;
  for_each_run(
      r, n - 1000, 1000,
      [](void* context, char*, uint64_t length) {
        *static_cast<uint64_t*>(context) += length;
        return true;
      },
      &seen);
  EXPECT_EQ(seen, 1000u);
}

TEST(LayoutConstructors, LongChainIsReleased) {
  Ptr l = indexed_block(1, {0, 9, 30}, dense(1));
  for (int i = 0; i < 200000; i++) l.reset(make_resized(0, 100 + i, l.get()));
  EXPECT_EQ(extent(l.get()), 100 + 199999);
}

TEST(LayoutConstructors, ChildrenMayBeReleasedFirst) {
  Ptr list = indexed_block(1, {0, 9, 30}, dense(2));
  Ptr twice = hvector(2, 1, 100, list);
  Ptr all = structure({1, 1}, {0, 300}, {twice.get(), list.get()});
  list.reset();
  twice.reset();
  EXPECT_EQ(runs(all),
            (Runs{{0, 2}, {9, 2}, {30, 2}, {100, 2}, {109, 2}, {130, 2}, {300, 2}, {309, 2}, {330, 2}}));
}

TEST(LayoutConstructors, AbsoluteAddresses) {
  // MPI_BOTTOM: base null, displacements are addresses.
  char a[4] = {'a', 'b', 'c', 'd'}, b[3] = {'x', 'y', 'z'}, out[7];
  const Ptr four = dense(4), three = dense(3);
  const Ptr l = structure({1, 1}, {reinterpret_cast<intptr_t>(b), reinterpret_cast<intptr_t>(a)},
                          {three.get(), four.get()});
  pack(out, {nullptr, 1, l.get()}, 0, 7);
  EXPECT_EQ(std::string(out, 7), "xyzabcd");
}

TEST(LayoutRuns, StopWhenTheVisitorSaysSo) {
  const Ptr l = hvector(10, 1, 8, dense(4));
  int calls = 0;
  for_each_run(
      {nullptr, 1, l.get()}, 0, 40,
      [](void* context, char*, uint64_t) { return ++*static_cast<int*>(context) < 3; }, &calls);
  EXPECT_EQ(calls, 3);
}

TEST(LayoutGrain, KeepsBlocksRowsAndTransposesTogether) {
  const auto grain_of = [](const Ptr& l, uint64_t count) { return grain({nullptr, count, l.get()}); };
  EXPECT_EQ(grain_of(dense(100), 7), 1u);
  EXPECT_EQ(grain_of(contiguous(0, dense(1)), 3), 1u);
  EXPECT_EQ(grain_of(hvector(100, 1, 64, dense(24)), 1), 24u);
  EXPECT_EQ(grain_of(hvector(10, 1, 10000, hvector(100, 1, 64, dense(24))), 1), 2400u);
  EXPECT_EQ(grain_of(hvector(10, 1, 10000000, hvector(100000, 1, 64, dense(24))), 1), 24u);
  // Columns of a matrix of 16-byte elements: eight of them lie in a pair of cache lines.
  EXPECT_EQ(grain_of(resized(0, 16, hvector(512, 1, 8192, dense(16))), 128), 512u * 16 * 8);
}

TEST(LayoutDescribe, FitsAnyBuffer) {
  const Ptr l = hvector(128, 1, 1024, dense(8));
  const std::string whole = "vector 128 x 8 B stride 1024 B, extent 130056 B";
  EXPECT_EQ(text(l), whole);
  char small[8];
  EXPECT_EQ(describe(l.get(), small, sizeof small), whole.size());
  EXPECT_STREQ(small, "vector ");
}

}  // namespace
}  // namespace tasuki::layout
