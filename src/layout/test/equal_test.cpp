// Equality and hash: equal memory maps are equal whatever the constructors were, different ones are not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layout/expression.h"
#include "layout/layout_impl.h"
#include "layout/test/type_tree.h"

namespace tasuki::layout::testing {
namespace {

LayoutPtr layout_of(const std::string& expression) {
  size_t column = 0;
  Result<const Layout*> l = parse(expression, &column);
  EXPECT_TRUE(l.ok()) << expression << ": " << l.status().message();
  return LayoutPtr(l.ok() ? l.value() : retain(byte_layout()));
}

// All of them have the same normal form, too.
void expect_equal(const std::vector<std::string>& expressions) {
  const LayoutPtr first = layout_of(expressions[0]);
  for (const std::string& e : expressions) {
    const LayoutPtr other = layout_of(e);
    EXPECT_TRUE(equal(first.get(), other.get())) << expressions[0] << "\n" << e;
    EXPECT_EQ(hash(first.get()), hash(other.get())) << expressions[0] << "\n" << e;
    EXPECT_TRUE(same(first->root, other->root)) << "normal forms differ\n" << expressions[0] << "\n" << e;
  }
}

TEST(LayoutEqual, ConstructorsDoNotMatter) {
  expect_equal({"double[12]", "contiguous(3, double[4])", "char[96]", "vector(3, 4, 4, double)",
                "struct{int[4]; double[10]}", "indexed([5, 7], [0, 5], double)",
                "subarray([3, 4], [3, 4], [0, 0], double)", "subarray([4, 3], [4, 3], [0, 0], double, F)"});
  // A vector of contiguous, a contiguous of vectors, a list, a subarray; resized where MPI's extents differ.
  expect_equal({"resized(0, 960, vector(10, 3, 12, double))", "contiguous(10, resized(0, 96, double[3]))",
                "subarray([10, 12], [10, 3], [0, 0], double)",
                "subarray([12, 10], [3, 10], [0, 0], double, F)",
                "resized(0, 960, contiguous(2, resized(0, 480, vector(5, 1, 4, double[3]))))",
                "resized(0, 960, hvector(5, 1, 192, hvector(2, 3, 96, double)))",
                "resized(0, 960, hindexed([3, 3, 3, 3, 3, 3, 3, 3, 3, 3], [0, 96, 192, 288, 384, 480, 576, "
                "672, 768, 864], "
                "double))",
                "resized(0, 960, struct{vector(4, 3, 12, double)@0; vector(6, 3, 12, double)@384})",
                "resized(0, 960, struct{int[6]@0; vector(9, 6, 24, int)@96})"});
  expect_equal({"vector(5, 1, 3, vector(2, 1, 2, int))", "hvector(5, 1, 36, indexed_block(1, [0, 2], int))",
                "indexed_block(1, [0, 2, 9, 11, 18, 20, 27, 29, 36, 38], int)"});
  expect_equal({"indexed([1, 3, 2], [0, 7, 20], int)", "hindexed([4, 12, 8], [0, 28, 80], byte)",
                "struct{int@0; int[3]@28; int@80; int@84}",
                "struct{indexed([1, 3], [0, 7], int)@0; int[2]@80}"});
  expect_equal(
      {"resized(0, 100, struct{})", "resized(0, 100, int[0])", "resized(0, 100, vector(3, 0, 7, double))"});
}

TEST(LayoutEqual, DifferentMapsAreDifferent) {
  const std::vector<std::string> all = {"int",
                                        "int[2]",
                                        "vector(2, 1, 2, int)",
                                        "vector(2, 1, 3, int)",
                                        "vector(3, 1, 2, int)",
                                        "resized(0, 8, int)",
                                        "resized(-4, 8, int)",
                                        "struct{int@4}",
                                        "indexed([1, 1], [1, 0], int)",
                                        "indexed([1, 1], [0, 0], int)",
                                        "indexed_block(1, [0, 3, 4, 9, 11], int)",
                                        "indexed_block(1, [0, 3, 5, 9, 11], int)",
                                        "resized(0, 8, int[0])",
                                        "int[0]"};
  for (size_t i = 0; i < all.size(); i++)
    for (size_t j = 0; j < all.size(); j++) {
      const LayoutPtr a = layout_of(all[i]), b = layout_of(all[j]);
      EXPECT_EQ(equal(a.get(), b.get()), i == j) << all[i] << "\n" << all[j];
      EXPECT_EQ(hash(a.get()) == hash(b.get()), i == j) << all[i] << "\n" << all[j];
    }
}

// The map of `tree` once more, as a list of bytes; one byte elsewhere if `changed` is below their number.
LayoutPtr listed(const TypeTree& tree, size_t changed) {
  std::vector<int64_t> bytes = tree.model.bytes;
  if (changed < bytes.size()) bytes[changed]++;
  const LayoutPtr list(make_hindexed_block(bytes.size(), 1, bytes.data(), byte_layout()));
  return LayoutPtr(make_resized(tree.model.lower_bound(), tree.model.extent(), list.get()));
}

TEST(LayoutEqual, RandomTreesEqualTheirListOfBytes) {
  int same_form = 0, cases = 0;
  for (uint64_t seed = 0; seed < 4000; seed++) {
    Choices choices(seed);
    const TypeTree tree = seed % 8 == 0 ? random_pattern(choices) : random_tree(choices, 4, 400);
    const size_t n = tree.model.bytes.size();
    const LayoutPtr bytes = listed(tree, n);
    ASSERT_TRUE(equal(tree.layout.get(), bytes.get())) << "seed " << seed << ": " << tree.text;
    ASSERT_EQ(hash(tree.layout.get()), hash(bytes.get())) << "seed " << seed << ": " << tree.text;
    same_form += same(tree.layout->root, bytes->root);
    cases++;
    if (n == 0) continue;
    const LayoutPtr other = listed(tree, choices.below(n));
    ASSERT_FALSE(equal(tree.layout.get(), other.get())) << "seed " << seed << ": " << tree.text;
  }
  RecordProperty("same_normal_form", same_form);
  RecordProperty("cases", cases);
  EXPECT_GT(same_form, cases / 2);
}

}  // namespace
}  // namespace tasuki::layout::testing
