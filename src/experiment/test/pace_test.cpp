// Pacing expressions: what they are worth, and that hostile text is refused.
#include "experiment/pace.h"

#include <gtest/gtest.h>

#include <cmath>

#include "schedule/schedule.h"

namespace tasuki::experiment {
namespace {

double worth(const std::string& text, uint32_t hops) {
  const Result<PaceExpression> e = PaceExpression::parse(text);
  EXPECT_TRUE(e.ok()) << text;
  return e.ok() ? e.value().packets(hops) : NAN;
}

TEST(Pace, ThePapersGaps) {
  for (uint32_t hops = 1; hops < 10; hops++) {
    EXPECT_EQ(worth("0", hops), 0);
    EXPECT_EQ(worth("hops-1+1.25", hops), hops + 0.25);
    EXPECT_EQ(worth("hops-1-2", hops), hops - 3.0);
  }
}

TEST(Pace, Arithmetic) {
  EXPECT_EQ(worth("1+2*3", 0), 7);
  EXPECT_EQ(worth("(1+2)*3", 0), 9);
  EXPECT_EQ(worth("7-2-1", 0), 4);
  EXPECT_EQ(worth("8/4/2", 0), 1);
  EXPECT_EQ(worth("2-3*hops", 5), -13);
  EXPECT_EQ(worth("-hops+-2", 5), -7);
  EXPECT_EQ(worth("2--hops", 5), 7);
  EXPECT_EQ(worth("max(hops, 2) * 3/4", 1), 1.5);
  EXPECT_EQ(worth("min(max(hops,2),4)", 9), 4);
  EXPECT_EQ(worth("\t max( hops - 1 , 2 )\t", 9), 8);
  EXPECT_EQ(worth("1e2", 0), 100);
}

TEST(Pace, GapsAreWholeUnitsAndNeverNegative) {
  const auto gap = [](const std::string& text, uint32_t hops) {
    const Result<PaceExpression> e = PaceExpression::parse(text);
    EXPECT_TRUE(e.ok()) << text;
    return e.ok() ? e.value().gap(hops) : UINT32_MAX;
  };
  EXPECT_EQ(gap("hops-1+1.25", 1), schedule::kGapUnit * 5 / 4);
  EXPECT_EQ(gap("1/8", 1), schedule::kGapUnit / 8);
  EXPECT_EQ(gap("hops-9", 1), 0u);
  // A division by nothing, sums beyond all numbers and what is no number: a gap all the same.
  EXPECT_EQ(gap("1/(hops-3)", 3), 0u);
  EXPECT_EQ(gap("1e9", 3), 1000000u * schedule::kGapUnit);
  EXPECT_EQ(gap("1e308*10", 3), 1000000u * schedule::kGapUnit);
  EXPECT_EQ(gap("-1e308*10", 3), 0u);
  EXPECT_EQ(gap("1e308*10-1e308*10", 3), 0u);
  EXPECT_EQ(gap("hops", UINT32_MAX), 1000000u * schedule::kGapUnit);
}

TEST(Pace, WhatIsNoExpressionIsRefusedAndSaysWhere) {
  struct Case {
    const char *text, *where;
  };
  for (const Case& c : {Case{"", "character 1 "},
                        {"  ", "character 3 "},
                        {"hop", "character 1 "},
                        {"hopss", "character 5 "},
                        {"hops-", "character 6 "},
                        {"1+*2", "character 3 "},
                        {"1 2", "character 3 "},
                        {"(1", "character 3 "},
                        {"1)", "character 2 "},
                        {"min(1)", "character 6 "},
                        {"max(1,2,3)", "character 8 "},
                        {"max(,)", "character 5 "},
                        {"inf", "character 1 "},
                        {"nan", "character 1 "},
                        {"1e999", "character 1 "},
                        {"0x10", "character 2 "},
                        {"hops^2", "character 5 "},
                        {"1;2", "character 2 "},
                        {"%s%n", "character 1 "}}) {
    const Result<PaceExpression> e = PaceExpression::parse(c.text);
    ASSERT_FALSE(e.ok()) << c.text;
    EXPECT_NE(e.status().message().find(c.where), std::string::npos) << e.status().message();
    EXPECT_NE(e.status().message().find("for example hops-1+1.25"), std::string::npos);
  }
  EXPECT_FALSE(PaceExpression::parse(std::string_view("1\0+2", 4)).ok());
}

TEST(Pace, DepthAndLengthDoNoHarm) {
  constexpr size_t kMany = 100000;
  EXPECT_FALSE(PaceExpression::parse(std::string(kMany, '(') + "1" + std::string(kMany, ')')).ok());
  EXPECT_FALSE(PaceExpression::parse(std::string(kMany, '-') + "1").ok());
  std::string nested;
  for (size_t i = 0; i < kMany; i++) nested += "max(1,";
  EXPECT_FALSE(PaceExpression::parse(nested).ok());
  std::string sum = "1";
  for (size_t i = 1; i < kMany; i++) sum += "+1";
  EXPECT_EQ(worth(sum, 0), static_cast<double>(kMany));
  EXPECT_EQ(worth(std::string(20, '(') + "hops" + std::string(20, ')'), 3), 3);
}

// Mostly operands and operators in turn, so that a fair part makes sense.
TEST(Pace, RandomTextGivesAnErrorOrAGap) {
  static const char* const kOperands[] = {"hops", "1", "2.5", "(hops", "max(1,hops)", "1e300", "1)", "-"};
  static const char* const kOperators[] = {"+", "-", "*", "/", ")/", ",", " ", "x"};
  uint64_t state = 1;
  const auto pick = [&state](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  int good = 0, bad = 0;
  for (int i = 0; i < 20000; i++) {
    std::string text;
    for (uint64_t parts = 1 + 2 * pick(4), p = 0; p < parts; p++)
      text += p % 2 == 0 ? kOperands[pick(std::size(kOperands))] : kOperators[pick(std::size(kOperators))];
    const Result<PaceExpression> e = PaceExpression::parse(text);
    (e.ok() ? good : bad)++;
    if (!e.ok()) continue;
    for (const uint32_t hops : {0u, 1u, 7u})
      ASSERT_LE(e.value().gap(hops), 1000000u * schedule::kGapUnit) << text;
  }
  EXPECT_GT(good, 1000);
  EXPECT_GT(bad, 1000);
}

}  // namespace
}  // namespace tasuki::experiment
