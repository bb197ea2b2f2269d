// Every broadcast is executed, message by message, with rendezvous semantics: that proves that it ends, that
// nobody sends what it has not got, and that every rank gets every byte once.
#include <gtest/gtest.h>

#include <set>

#include "schedule/test/execution.h"

namespace tasuki::schedule {
namespace {

void execute(const char* name, const Parameters& p) {
  SCOPED_TRACE(std::string(name) + ": " + text(p));
  const Schedule s = made(name, p);
  ASSERT_EQ(s.ranks(), p.ranks);
  Execution e(s);
  for (uint64_t i = 0; i < p.bytes; i++) e.buffer(p.root, "data")[i] = {1, i, 0};
  e.run();
  for (uint32_t r = 0; r < p.ranks; r++)
    for (uint64_t i = 0; i < p.bytes; i++) {
      const Cell& got = e.buffer(r, "data")[i];
      ASSERT_EQ(got.who, 1u) << "rank " << r << " byte " << i;
      ASSERT_EQ(got.index, i) << "rank " << r;
      ASSERT_EQ(got.writes, r == p.root ? 0u : 1u) << "rank " << r << " byte " << i;
    }
}

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Algorithm* a : algorithms()) {
    EXPECT_TRUE(names.insert(a->name).second) << a->name;
    EXPECT_EQ(find(a->name), a);
  }
  for (const char* name : {"binomial", "chain", "binary_tree", "trinaryx3"})
    EXPECT_TRUE(names.contains(name));
  EXPECT_EQ(find("pwx"), find("pairwise"));
  EXPECT_FALSE(names.contains("pwx"));
  EXPECT_EQ(find("nothing"), nullptr);
}

TEST(Registry, WrongParametersAreNamed) {
  const auto message = [](const char* name, const Parameters& p) {
    return make(*find(name), p).status().message();
  };
  EXPECT_NE(message("chain", {.ranks = 0}).find("rank"), std::string::npos);
  EXPECT_NE(message("chain", {.ranks = 4, .root = 4}).find("root 4"), std::string::npos);
  EXPECT_NE(message("ring", {.ranks = 1u << 31, .bytes = uint64_t{1} << 40}).find("too many"),
            std::string::npos);
  EXPECT_NE(message("chain", {.ranks = 2, .bytes = uint64_t{1} << 40, .segment = 1}).find("segments"),
            std::string::npos);
  for (const Parameters& p :
       {Parameters{.ranks = 8, .shape = {4, 2}}, Parameters{.ranks = 8, .shape = {2, 2, 2}},
        Parameters{.ranks = 9, .shape = {3, 3}, .wraps = false}})
    EXPECT_NE(message("a2at", p).find("square torus"), std::string::npos);
  EXPECT_NE(message("a2at", {.ranks = 4}).find("shape"), std::string::npos);
  for (const char* name : {"ring-allreduce", "recursive-doubling"}) {
    EXPECT_NE(message(name, {.ranks = 4, .bytes = 9, .element = 8}).find("elements of 8"), std::string::npos);
    EXPECT_NE(message(name, {.ranks = 4, .bytes = 9, .element = 0}).find("elements of 0"), std::string::npos);
  }
  EXPECT_NE(message("trinaryx3", {.ranks = 4}).find("shape"), std::string::npos);
  EXPECT_NE(message("trinaryx3", {.ranks = 4, .shape = {3, 2}}).find("6 nodes"), std::string::npos);
  EXPECT_NE(message("trinaryx3", {.ranks = 8, .shape = {4, 2}}).find("3x3"), std::string::npos);
  EXPECT_NE(message("trinaryx3", {.ranks = 9, .shape = {3, 3}, .wraps = false}).find("torus"),
            std::string::npos);
  EXPECT_NE(message("trinaryx3", {.ranks = 9, .shape = {9}}).find("two dimensions"), std::string::npos);
}

TEST(Broadcast, AnyNumberOfRanks) {
  for (const char* name : {"binomial", "chain", "binary_tree"})
    for (const uint32_t ranks : {1, 2, 3, 4, 5, 7, 8, 13, 16, 33})
      for (const uint32_t root : {0u, ranks / 2, ranks - 1})
        for (const uint64_t bytes : {0, 1, 7, 64, 100})
          for (const uint64_t segment : {0, 1, 16, 64, 1000})
            execute(name, {.ranks = ranks, .root = root, .bytes = bytes, .segment = segment});
}

struct Shape {
  std::vector<uint32_t> extents;
  bool wraps;
};

const Shape kShapes[] = {
    {{3, 3}, true},     {{3, 4}, true},        {{4, 4}, true},
    {{5, 3}, true},     {{8, 5}, true},        {{9, 9}, true},
    {{1, 4, 5}, true},  {{2, 2, 2}, true},     {{3, 3, 3}, true},
    {{4, 4, 4}, true},  {{2, 3, 4}, true},     {{5, 2, 3}, true},
    {{4, 5, 3}, true},  {{2, 2, 2, 2}, true},  {{3, 2, 4, 3}, true},
    {{2, 2, 2}, false}, {{3, 3, 3}, false},    {{4, 3, 2}, false},
    {{2, 5, 3}, false}, {{3, 2, 3, 2}, false}, {{2, 3, 2, 2, 3, 2}, true},
};

uint32_t nodes(const Shape& shape) {
  uint32_t n = 1;
  for (const uint32_t e : shape.extents) n *= e;
  return n;
}

TEST(Trinaryx3, EveryByteOnceFromAnyRoot) {
  for (const Shape& shape : kShapes) {
    const uint32_t n = nodes(shape);
    for (uint32_t root = 0; root<n; root += n> 40 ? n / 7 : 1)
      for (const auto& [bytes, segment] : {std::pair<uint64_t, uint64_t>{30, 0}, {31, 4}, {2, 1}, {0, 8}})
        execute("trinaryx3", {.ranks = n,
                              .root = root,
                              .bytes = bytes,
                              .segment = segment,
                              .shape = shape.extents,
                              .wraps = shape.wraps});
  }
}

// Where a nic of the rank leads; UINT32_MAX: out of the mesh.
uint32_t neighbour(const Shape& shape, uint32_t rank, int16_t nic) {
  uint32_t stride = 1;
  for (int d = 0; d < nic / 2; d++) stride *= shape.extents[static_cast<size_t>(d)];
  const uint32_t extent = shape.extents[static_cast<size_t>(nic / 2)], c = rank / stride % extent;
  const bool positive = nic % 2 == 0;
  if (!shape.wraps && (positive ? c + 1 == extent : c == 0)) return UINT32_MAX;
  return rank - c * stride + (positive ? c + 1 : c + extent - 1) % extent * stride;
}

// All of every tree's links lead to neighbours, and no directed link is in two trees: not even where the two
// ways round an extent of 2 are one cable.
TEST(Trinaryx3, TreesShareNoDirectedLink) {
  for (const Shape& shape : kShapes) {
    const uint32_t n = nodes(shape);
    for (uint32_t root = 0; root < n; root++) {
      const Parameters p{.ranks = n, .root = root, .bytes = 3, .shape = shape.extents, .wraps = shape.wraps};
      SCOPED_TRACE(text(p));
      const Schedule s = made("trinaryx3", p);
      std::set<std::pair<uint32_t, uint32_t>> links;
      for (uint32_t r = 0; r < n; r++)
        for (const Step& step : s.steps(r)) {
          if (step.action != Action::send) continue;
          ASSERT_EQ(neighbour(shape, r, step.nic), step.peer) << r;
          ASSERT_TRUE(links.insert({r, step.peer}).second) << r << " to " << step.peer;
        }
      ASSERT_EQ(links.size(), 3 * (n - 1));
    }
  }
}

// One node, and pacing that reaches every send.
TEST(Trinaryx3, SmallestShapesAndGap) {
  execute("trinaryx3", {.ranks = 1, .bytes = 9, .shape = {1, 1}});
  const Schedule s = made("trinaryx3", {.ranks = 9, .bytes = 90, .segment = 10, .shape = {3, 3}, .gap = 5});
  EXPECT_EQ(s.lanes(), 3u);
  for (const std::vector<Step>& steps : materialise(s))
    for (const Step& step : steps) EXPECT_EQ(step.gap, step.action == Action::send ? 5u : 0u);
}

}  // namespace
}  // namespace tasuki::schedule
