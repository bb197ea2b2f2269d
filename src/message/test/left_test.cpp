#include "message/cost/left.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tasuki::message {
namespace {

LeftCollectives parsed(const std::string& text, const char* library = "mpich") {
  LeftCollectives left{};
  const Status s = parse_left(text, library, &left);
  EXPECT_TRUE(s.ok()) << text << ": " << s.message();
  return left;
}

TEST(Left, NothingIsLeftWithoutRules) {
  const LeftCollectives none = parsed("");
  for (size_t i = 0; i < std::size(kCollectiveNames); i++)
    EXPECT_FALSE(none.have(static_cast<Collective>(i), 8, 2)) << kCollectiveNames[i];
}

TEST(Left, ARuleHoldsForItsOperationBytesAndRanks) {
  const LeftCollectives left = parsed("allreduce:8-4KiB@2-4,gather:256,scan@8");
  EXPECT_TRUE(left.have(Collective::allreduce, 8, 2));
  EXPECT_TRUE(left.have(Collective::allreduce, 4096, 4));
  EXPECT_FALSE(left.have(Collective::allreduce, 7, 2));
  EXPECT_FALSE(left.have(Collective::allreduce, 4097, 2));
  EXPECT_FALSE(left.have(Collective::allreduce, 8, 5));
  EXPECT_FALSE(left.have(Collective::reduce, 8, 2));
  EXPECT_TRUE(left.have(Collective::gather, 256, 1000));
  EXPECT_FALSE(left.have(Collective::gather, 255, 2));
  EXPECT_TRUE(left.have(Collective::scan, 0, 8));
  EXPECT_TRUE(left.have(Collective::scan, 1 << 30, 8));
  EXPECT_FALSE(left.have(Collective::scan, 8, 7));
}

// Ranks with different bytes would not agree on a rule that asks for them.
TEST(Left, UnequalBytesAreLeftByRulesWithoutBytesOnly) {
  const LeftCollectives left = parsed("alltoallv:1-1MiB,gatherv@2");
  EXPECT_FALSE(left.have(Collective::alltoallv, LeftCollectives::kAnyBytes, 2));
  EXPECT_TRUE(left.have(Collective::gatherv, LeftCollectives::kAnyBytes, 2));
  EXPECT_FALSE(left.have(Collective::gatherv, LeftCollectives::kAnyBytes, 3));
}

TEST(Left, RulesOfOtherLibrariesAreLeftOut) {
  const std::string text = "openmpi/bcast,mpich/barrier,abi/scan,scatter";
  EXPECT_EQ(parsed(text, "openmpi").count, 2u);
  EXPECT_TRUE(parsed(text, "openmpi").have(Collective::bcast, 1, 2));
  EXPECT_TRUE(parsed(text, "mpich").have(Collective::barrier, 0, 2));
  EXPECT_FALSE(parsed(text, "mpich").have(Collective::bcast, 1, 2));
  EXPECT_TRUE(parsed(text, "abi").have(Collective::scatter, 1, 2));
}

TEST(Left, WhatIsNoRuleIsNamed) {
  for (const char* wrong : {"alreduce", "allreduce:", "allreduce:x", "allreduce:8-", "allreduce:9-8",
                            "allreduce@", "allreduce@2-1", "allreduce@4:8", "lam/barrier", "/barrier",
                            "barrier,,scan", "allreduce:8-16-32", "barrier ", "allreduce@99999999999"}) {
    LeftCollectives left = parsed("barrier");
    const Status s = parse_left(std::string("scan,") + wrong, "mpich", &left);
    EXPECT_FALSE(s.ok()) << wrong;
    EXPECT_EQ(left.count, 1u) << wrong;
  }
  LeftCollectives left{};
  EXPECT_NE(parse_left("scan,foo:3", "mpich", &left).message().find("\"foo:3\""), std::string::npos);
}

TEST(Left, TooManyRulesAreAnError) {
  std::string text;
  for (uint32_t i = 0; i < LeftCollectives::kMost; i++) text += "scan:" + std::to_string(i) + ",";
  EXPECT_EQ(parsed(text).count, LeftCollectives::kMost);
  LeftCollectives left{};
  EXPECT_FALSE(parse_left(text + "bcast", "mpich", &left).ok());
}

std::string rules_of(const std::vector<LeftSample>& samples) {
  std::string text;
  for (const LeftRule& rule : rules_for(samples)) text += (text.empty() ? "" : ",") + left_text(rule);
  return text;
}

TEST(Left, RulesAreWhatTheLibraryDoesFaster) {
  using enum Collective;
  EXPECT_EQ(rules_of({}), "");
  EXPECT_EQ(rules_of({{scan, 2, 8, 0.96}, {scan, 2, 64, 3}}), "");
  // Below the smallest size that was measured, and between two; not above the largest.
  EXPECT_EQ(rules_of({{scan, 2, 64, 0.9}, {scan, 2, 8, 0.8}, {scan, 2, 512, 1.1}, {scan, 2, 4096, 0.5}}),
            "scan:1B-64B@2,scan:4KiB@2");
  // Numbers of ranks that are alike are one rule, if they are neighbours.
  EXPECT_EQ(rules_of({{reduce, 2, 8, 0.9}, {reduce, 4, 8, 0.9}, {reduce, 8, 8, 1}, {reduce, 16, 8, 0.9}}),
            "reduce:1B-8B@2-4,reduce:1B-8B@16");
  EXPECT_EQ(rules_of({{gather, 2, 8, 0.9}, {scatter, 4, 8, 0.9}}), "gather:1B-8B@2,scatter:1B-8B@4");
}

TEST(Left, OperationsWithUnequalBytesAreLeftAsAWholeOrNotAtAll) {
  using enum Collective;
  EXPECT_EQ(
      rules_of({{alltoallw, 2, 8, 0.9}, {alltoallw, 2, 64, 1}, {barrier, 2, 8, 0.7}, {barrier, 2, 64, 0.7}}),
      "barrier@2");
}

TEST(Left, TextsAreReadBack) {
  for (const char* text : {"barrier", "allreduce:8B-4KiB@2-4", "gather:256B@3", "bcast:1MiB", "scan@8"}) {
    const LeftCollectives left = parsed(text);
    ASSERT_EQ(left.count, 1u);
    EXPECT_EQ(left_text(left.rules[0]), text);
  }
}

}  // namespace
}  // namespace tasuki::message
