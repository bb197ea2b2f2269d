#include "experiment/schedule_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>

namespace tasuki::experiment {
namespace {

SavedSchedule tuned() {
  SavedSchedule s{"a2at", {.ranks = 81, .bytes = 1 << 20, .shape = {9, 9}}, true, {schedule::kGapUnit, {}}};
  for (int32_t k = 0; k < 20; k++) s.pace.per_sequence.push_back(37 * k - 300);
  return s;
}

TEST(ScheduleFile, ComesBackAsItWasSaved) {
  const std::string file = testing::TempDir() + "/schedule_file_test." + std::to_string(getpid()) + ".json";
  const SavedSchedule s = tuned();
  ASSERT_TRUE(save(s, file).ok());
  Result<SavedSchedule> loaded = load(file);
  std::remove(file.c_str());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const SavedSchedule& l = loaded.value();
  EXPECT_EQ(l.algorithm, "a2at");
  EXPECT_EQ(l.barriers, true);
  EXPECT_EQ(l.parameters.ranks, 81u);
  EXPECT_EQ(l.parameters.shape, (std::vector<uint32_t>{9, 9}));
  EXPECT_EQ(l.pace.per_hop, s.pace.per_hop);
  EXPECT_EQ(l.pace.per_sequence, s.pace.per_sequence);
  EXPECT_EQ(to_text(l), to_text(s));

  const SavedSchedule other{
      "chain",
      {.ranks = 7, .root = 3, .bytes = 9, .segment = 4, .wraps = false, .gap = 3, .element = 2},
      false,
      {}};
  loaded = from_text(to_text(other), "text");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(to_text(loaded.value()), to_text(other));
  EXPECT_EQ(loaded.value().parameters.root, 3u);
  EXPECT_EQ(loaded.value().parameters.segment, 4u);
  EXPECT_EQ(loaded.value().parameters.gap, 3u);
  EXPECT_EQ(loaded.value().parameters.element, 2u);
  EXPECT_FALSE(loaded.value().parameters.wraps);
}

TEST(ScheduleFile, ReplayHasGapsAndBarriers) {
  const SavedSchedule saved = tuned();
  Result<schedule::Schedule> s = replay(saved);
  ASSERT_TRUE(s.ok()) << s.status().message();
  EXPECT_EQ(s.value().rounds(), 20u + 19u * 7u);
  for (const schedule::Step& step : s.value().steps(0)) {
    if (step.action != schedule::Action::send || step.sequence == schedule::kBarrier) continue;
    const int32_t hops = static_cast<int32_t>(schedule::hops({9, 9}, true, 0, step.peer));
    EXPECT_EQ(static_cast<int32_t>(step.gap),
              std::max(0, 256 * hops + saved.pace.per_sequence[step.sequence]));
  }
  SavedSchedule wrong = tuned();
  wrong.pace.per_sequence.pop_back();
  EXPECT_NE(replay(wrong).status().message().find("19 entries"), std::string::npos);
  wrong.algorithm = "nothing";
  EXPECT_NE(replay(wrong).status().message().find("nothing"), std::string::npos);
}

TEST(ScheduleFile, RanksFollowFromTheShape) {
  Result<SavedSchedule> s = from_text(
      R"({"format": "tasuki-schedule-1", "algorithm": "a2at", "parameters": {"shape": [4, 4], "bytes": 8},
          "pace": {"per_sequence": [0, 0.125, 1.25, 2]}})",
      "text");
  ASSERT_TRUE(s.ok()) << s.status().message();
  EXPECT_EQ(s.value().parameters.ranks, 16u);
  EXPECT_EQ(s.value().pace.per_sequence, (std::vector<int32_t>{0, 32, 320, 512}));
  EXPECT_TRUE(replay(s.value()).ok());
}

TEST(ScheduleFile, ErrorsNameWhatIsWrong) {
  const auto message = [](const std::string& rest) {
    return from_text(R"({"format": "tasuki-schedule-1", "algorithm": "ring")" + rest + "}", "f.json")
        .status()
        .message();
  };
  const auto says = [](const std::string& text, const std::string& what) {
    EXPECT_EQ(text.find("f.json"), 0u) << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
  };
  says(message(""), "parameters");
  says(message(R"(, "parameters": 3)"), "object");
  says(message(R"(, "parameters": {"rank": 3})"), "\"rank\"");
  says(message(R"(, "parameters": {"ranks": -3})"), "ranks: -3");
  says(message(R"(, "parameters": {"ranks": 4294967296})"), "ranks: 4294967296");
  says(message(R"(, "parameters": {"bytes": 1.5})"), "bytes: 1.5");
  says(message(R"(, "parameters": {"shape": 9})"), "shape must be a list");
  says(message(R"(, "parameters": {"gap": -1})"), "gap: -1");
  says(message(R"(, "parameters": {}, "barriers": 1)"), "barriers must be");
  says(message(R"(, "parameters": {}, "pace": {"per_sequence": ["a"]})"), "\"a\" is not a gap");
  says(message(R"(, "parameters": {}, "pace": {"per_sequence": [1e9]})"), "is not a gap");
  says(message(R"(, "parameters": {}, "pace": {"per_hop": 1})"), "per_sequence");
  says(message(R"(, "parameters": {}, "pac": {})"), "\"pac\"");
  says(message(R"(, "parameters)"), "line 1");
  says(from_text("[]", "f.json").status().message(), "object");
  says(from_text("{}", "f.json").status().message(), "format");
  EXPECT_NE(load("/nowhere/f.json").status().message().find("/nowhere/f.json"), std::string::npos);
}

}  // namespace
}  // namespace tasuki::experiment
