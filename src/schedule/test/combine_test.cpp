// Schedules one after the other, barriers between rounds, gaps by sequence and hops.
#include "schedule/test/execution.h"

namespace tasuki::schedule {
namespace {

Schedule a2at(uint32_t n, uint32_t gap = 0) {
  return made("a2at", {.ranks = n * n, .bytes = 2, .shape = {n, n}, .gap = gap});
}

uint32_t hops_less_one(uint32_t, uint32_t hops) {
  return (hops - 1) * kGapUnit;
}

TEST(Combine, BarriersKeepSequencesApart) {
  for (const uint32_t n : {3u, 4u, 5u}) {
    const Schedule plain = a2at(n);
    Execution e(plain);
    for (uint32_t r = 0; r < plain.ranks(); r++)
      for (Cell& cell : e.buffer(r, "send")) cell.who = 1;
    e.run();
    EXPECT_TRUE(e.overlapped()) << "nothing to see: barriers would make no difference";

    Result<Schedule> s = with_barriers(plain);
    ASSERT_TRUE(s.ok()) << s.status().message();
    expect_alltoall(s.value(), 2, true);
  }
}

TEST(Combine, BarriersStandBetweenRoundsOnly) {
  Result<Schedule> s = with_barriers(a2at(9));
  ASSERT_TRUE(s.ok());
  EXPECT_EQ(s.value().rounds(), 20u + 19u * 7u);
  EXPECT_EQ(s.value().sequences(), 20u);
  EXPECT_EQ(s.value().algorithm(), "a2at+barriers");
  std::vector<Step> steps;
  for (uint32_t r = 0; r < s.value().rounds(); r++) {
    s.value().round(5, 0, r, steps);
    ASSERT_FALSE(steps.empty());
    for (const Step& step : steps) {
      EXPECT_EQ(step.round, r);
      EXPECT_EQ(step.sequence, r % 8 == 0 ? r / 8 : kBarrier);
    }
  }
  EXPECT_FALSE(with_barriers(made("trinaryx3", {.ranks = 9, .bytes = 9, .shape = {3, 3}})).ok());
}

TEST(Combine, GapsFollowSequenceAndHops) {
  // Set before the barriers and after, it comes to the same.
  Schedule before = a2at(4, 77), plain = a2at(4, 77);
  ASSERT_TRUE(set_gaps(before, &hops_less_one).ok());
  Result<Schedule> a = with_barriers(before), b = with_barriers(plain);
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(set_gaps(b.value(), &hops_less_one).ok());
  for (const Schedule* s : {&a.value(), &b.value()})
    for (uint32_t r = 0; r < 16; r++)
      for (const Step& step : s->steps(r)) {
        const bool paced = step.action == Action::send && step.sequence != kBarrier;
        EXPECT_EQ(step.gap, paced ? (hops({4, 4}, true, r, step.peer) - 1) * kGapUnit : 0);
      }
  ASSERT_TRUE(set_gaps(before, [](uint32_t sequence, uint32_t) { return sequence; }).ok());
  for (const Step& step : before.steps(3))
    EXPECT_EQ(step.gap, step.action == Action::send ? step.sequence : 0);
  for (const Step& step : plain.steps(3)) EXPECT_EQ(step.gap, step.action == Action::send ? 77u : 0u);

  Schedule shapeless = made("ring", {.ranks = 4, .bytes = 1});
  EXPECT_NE(set_gaps(shapeless, &hops_less_one).message().find("shape"), std::string::npos);
}

TEST(Combine, OneAfterTheOther) {
  Schedule first = a2at(3);
  ASSERT_TRUE(set_gaps(first, &hops_less_one).ok());
  const Schedule parts[] = {first, made("dissemination", {.ranks = 9}),
                            made("bruck", {.ranks = 9, .bytes = 2})};
  Result<Schedule> s = concatenate(parts);
  ASSERT_TRUE(s.ok()) << s.status().message();
  const Schedule& all = s.value();
  EXPECT_EQ(all.algorithm(), "a2at+dissemination+bruck");
  EXPECT_EQ(all.operation(), "several");
  EXPECT_EQ(all.rounds(), parts[0].rounds() + parts[1].rounds() + parts[2].rounds());
  EXPECT_EQ(all.sequences(), all.rounds());
  EXPECT_EQ(all.buffers().size(), 5u);  // send and receive are common
  for (uint32_t r = 0; r < 9; r++) {
    std::vector<Step> expected;
    for (const Schedule& part : parts) {
      const std::vector<Step> steps = part.steps(r);
      expected.insert(expected.end(), steps.begin(), steps.end());
    }
    const std::vector<Step> got = all.steps(r);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); i++) {
      EXPECT_EQ(got[i].action, expected[i].action);
      EXPECT_EQ(got[i].peer, expected[i].peer);
      EXPECT_EQ(got[i].buffer, expected[i].buffer);
      EXPECT_EQ(got[i].gap, expected[i].gap);
      EXPECT_EQ(got[i].sequence, got[i].round);
      if (i > 0) {
        EXPECT_LE(got[i - 1].round, got[i].round);
      }
    }
  }

  const Schedule other[] = {first, made("ring", {.ranks = 8})};
  EXPECT_NE(concatenate(other).status().message().find("8 ranks"), std::string::npos);
  EXPECT_FALSE(concatenate({}).ok());
}

// Buffers get new numbers where another schedule's have other names.
TEST(Combine, BuffersOfTheSameNameAreTheSame) {
  const Schedule parts[] = {made("ring", {.ranks = 3, .bytes = 2}),
                            made("recursive-doubling", {.ranks = 3, .bytes = 50}),
                            made("halo", {.ranks = 3, .bytes = 9, .shape = {3}})};
  Result<Schedule> s = concatenate(parts);
  ASSERT_TRUE(s.ok()) << s.status().message();
  std::vector<std::pair<std::string, uint64_t>> buffers;
  for (const Buffer& b : s.value().buffers()) buffers.emplace_back(b.name, b.bytes);
  EXPECT_EQ(buffers, (std::vector<std::pair<std::string, uint64_t>>{
                         {"send", 18}, {"receive", 18}, {"data", 50}, {"arrived", 50}}));
  Execution e(s.value());
  for (uint32_t r = 0; r < 3; r++) {
    for (Cell& cell : e.buffer(r, "send")) cell.who = 1;
    for (Cell& cell : e.buffer(r, "data")) cell.who = 1u << r;
  }
  e.run();
  for (uint32_t r = 0; r < 3; r++)
    for (const Cell& cell : e.buffer(r, "data")) EXPECT_EQ(cell.who, 7u);
}

TEST(Hops, AreShortestWays) {
  struct Case {
    std::vector<uint32_t> shape;
    bool wraps;
  };
  for (const Case& c : {Case{{9, 9}, true}, Case{{8, 5}, true}, Case{{4, 3, 2}, false}, Case{{1, 7}, true},
                        Case{{2, 3, 2, 2}, true}}) {
    uint32_t n = 1, most = 0;
    for (const uint32_t extent : c.shape) n *= extent;
    // Breadth first from rank 0.
    std::vector<uint32_t> distance(n, UINT32_MAX), queue{0};
    distance[0] = 0;
    for (size_t head = 0; head < queue.size(); head++) {
      const uint32_t at = queue[head];
      uint32_t stride = 1;
      for (const uint32_t extent : c.shape) {
        const uint32_t x = at / stride % extent;
        for (const uint32_t to : {x + 1, x + extent - 1}) {
          const bool over = to == x + 1 ? to == extent : x == 0;
          const uint32_t next = at - x * stride + to % extent * stride;
          if ((over && !c.wraps) || distance[next] != UINT32_MAX) continue;
          distance[next] = distance[at] + 1;
          most = std::max(most, distance[next]);
          queue.push_back(next);
        }
        stride *= extent;
      }
    }
    for (uint32_t r = 0; r < n; r++) {
      EXPECT_EQ(hops(c.shape, c.wraps, 0, r), distance[r]) << r;
      EXPECT_EQ(hops(c.shape, c.wraps, r, 0), distance[r]) << r;
    }
    EXPECT_EQ(diameter(c.shape, c.wraps), most);
  }
}

}  // namespace
}  // namespace tasuki::schedule
