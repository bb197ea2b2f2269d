// Expressions, what is wrong with them, the named patterns and the cost classes.
#include "layout/expression.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layout/test/type_tree.h"

namespace tasuki::layout {
namespace {

using testing::LayoutPtr;

struct Parsed {
  LayoutPtr layout;
  std::string error;
  size_t column = 0;
};
Parsed parsed(const std::string& text) {
  Parsed p;
  Result<const Layout*> l = parse(text, &p.column);
  if (l.ok())
    p.layout.reset(l.value());
  else
    p.error = l.status().message();
  return p;
}
std::string description(const std::string& expression) {
  const Parsed p = parsed(expression);
  if (!p.layout) return p.error;
  std::string s(describe(p.layout.get(), nullptr, 0), '\0');
  describe(p.layout.get(), s.data(), s.size() + 1);
  return s;
}

TEST(LayoutExpression, EveryConstructor) {
  EXPECT_EQ(description("vector(128, 1, 16, double)"), "vector 128 x 8 B stride 128 B, extent 16264 B");
  EXPECT_EQ(description("MPI_Type_create_hvector(128, 1, 2*(32+32), MPI_DOUBLE)"),
            description("vector(128,1,16,double)"));
  EXPECT_EQ(description("contiguous(3, float[2])"), "24 B, extent 24 B");
  EXPECT_EQ(description("subarray([10,20],[3,4],[1,2], float)"),
            "vector 3 x 16 B stride 80 B at +88, extent 800 B");
  EXPECT_EQ(description("subarray([20,10],[4,3],[2,1], float, F)"),
            description("subarray([10,20],[3,4],[1,2], float)"));
  EXPECT_EQ(description("struct{int[3]@0; vector(4,2,8,double)@16}"),
            "struct 2 of {+0: 12 B, +16: vector 4 x 16 B stride 64 B}, extent 224 B");
  EXPECT_EQ(description("indexed([1,2],[0,5], int)"), "blocks 2, 12 B, extent 28 B");
  EXPECT_EQ(description("hindexed([1,2],[0,20], int)"), description("indexed([1,2],[0,5], int)"));
  EXPECT_EQ(description("indexed_block(1,[4,0], int)"), "vector 2 x 4 B stride -16 B at +16, extent 20 B");
  EXPECT_EQ(description("resized(-8, 64, double)"), "8 B, extent 64 B from -8");
  EXPECT_EQ(description("struct{char; int; char}"), "blocks 2, 6 B, extent 12 B");
}

TEST(LayoutExpression, ErrorsNameTheirColumn) {
  const std::vector<std::tuple<std::string, size_t, std::string>> cases = {
      {"vector(128, 1, 16)", 18, "expected ','"},
      {"vektor(1, 2, 3, int)", 1, "is no type"},
      {"contiguous(-1, int)", 12, "negative"},
      {"contiguous(3, int", 18, "expected ')'"},
      {"int int", 5, "after the end"},
      {"indexed([1, 2], [0], int)", 17, "1 where 2"},
      {"subarray([4], [3], [2], int)", 10, "do not lie within 4"},
      {"", 1, "expected a type"},
      {"int[9223372036854775808]", 23, "64 bits"},
      {"struct{int@}", 12, "expected a number"},
      {"contiguous(4611686018427387904, double)", 1, "63 bits"},
  };
  for (const auto& [text, column, message] : cases) {
    const Parsed p = parsed(text);
    EXPECT_EQ(p.layout, nullptr) << text;
    EXPECT_EQ(p.column, column) << text << ": " << p.error;
    EXPECT_NE(p.error.find(message), std::string::npos) << text << ": " << p.error;
  }
  EXPECT_EQ(parsed(std::string(100000, '(')).layout, nullptr);
  EXPECT_EQ(parsed("contiguous(" + std::string(100000, '-')).layout, nullptr);
}

TEST(LayoutPatterns, HaveTheSizesOfTheBenchmark) {
  const std::vector<std::pair<const char*, uint64_t>> expected = {
      {"WRF_x_vec", 102648},   {"WRF_y_vec", 90804},    {"WRF_x_sa", 102648},    {"WRF_y_sa", 90804},
      {"MILC_su3_zd", 49152},  {"NAS_LU_x", 4080},      {"NAS_LU_y", 4080},      {"NAS_MG_x", 32768},
      {"NAS_MG_y", 262144},    {"NAS_MG_z", 262144},    {"FFT2", 1048576},       {"SPECFEM3D_mt", 91200},
      {"SPECFEM3D_oc", 12900}, {"SPECFEM3D_cm", 26424}, {"LAMMPS_full", 106368}, {"LAMMPS_atomic", 11664},
  };
  ASSERT_EQ(expected.size(), kPatternCount);
  for (const auto& [name, bytes] : expected) {
    const NamedPattern* pattern = find_pattern(name);
    ASSERT_NE(pattern, nullptr) << name;
    Result<PatternExpressions> e = pattern_expressions(*pattern, {});
    ASSERT_TRUE(e.ok()) << name;
    for (const std::string& side : {e.value().send, e.value().receive}) {
      const Parsed p = parsed(side);
      ASSERT_NE(p.layout, nullptr) << name << ": " << p.error;
      EXPECT_EQ(size(p.layout.get()), bytes) << name;
    }
  }
  EXPECT_FALSE(pattern_expressions(*find_pattern("fft2"), {1, 2}).ok());
  EXPECT_FALSE(pattern_expressions(*find_pattern("SPECFEM3D_oc"), {10, 11}).ok());
  EXPECT_EQ(find_pattern("NAS_MG_w"), nullptr);
}

TEST(LayoutPatterns, VectorsAndSubarraysOfWrfAreEqual) {
  for (const char* axis : {"x", "y"}) {
    const auto expressions = [&](const char* kind) {
      return pattern_expressions(*find_pattern(std::string("WRF_") + axis + kind), {}).value();
    };
    // Their extents differ: a subarray's is the whole array.
    const auto bounded = [](const std::string& e) { return parsed("resized(0, 1048576, " + e + ")").layout; };
    EXPECT_TRUE(equal(bounded(expressions("_vec").send).get(), bounded(expressions("_sa").send).get()))
        << axis;
    EXPECT_TRUE(equal(bounded(expressions("_vec").receive).get(), bounded(expressions("_sa").receive).get()))
        << axis;
  }
}

TEST(LayoutCost, Classes) {
  const auto class_of = [](const std::string& e) { return cost_of(parsed(e).layout.get()).cost_class; };
  EXPECT_EQ(class_of("int[0]"), CostClass::empty);
  EXPECT_EQ(class_of("vector(3, 4, 4, double)"), CostClass::dense);
  EXPECT_EQ(class_of("vector(100, 64, 128, double)"), CostClass::large_blocks);
  EXPECT_EQ(class_of("vector(100, 5, 100, double)"), CostClass::small_blocks);
  EXPECT_EQ(class_of("vector(100, 4, 5, char)"), CostClass::small_blocks);
  EXPECT_EQ(class_of("vector(100, 1, 100, double)"), CostClass::finely_scattered);
}

}  // namespace
}  // namespace tasuki::layout
