#include "base/nearest.h"

#include <gtest/gtest.h>

#include <string>

#include "base/unknown_settings.h"

namespace tasuki {
namespace {

TEST(Nearest, CountsSlipsOfTheKeyboard) {
  EXPECT_EQ(distance("run", "run"), 0);
  EXPECT_EQ(distance("", "run"), 3);
  EXPECT_EQ(distance("rnu", "run"), 1);
  EXPECT_EQ(distance("rum", "run"), 1);
  EXPECT_EQ(distance("un", "run"), 1);
  EXPECT_EQ(distance("runs", "run"), 1);
  EXPECT_EQ(distance("run", "mem"), 3);
}

TEST(Nearest, NamesWhatWasMeantOrNothing) {
  const std::string_view commands[] = {"run",      "mem",       "sim",          "doctor",
                                       "settings", "--require", "--layout-seed"};
  EXPECT_EQ(nearest("rnu", commands), "run");
  EXPECT_EQ(nearest("setings", commands), "settings");
  EXPECT_EQ(nearest("set", commands), "settings");
  EXPECT_EQ(nearest("docter", commands), "doctor");
  EXPECT_EQ(nearest("--requir", commands), "--require");
  EXPECT_EQ(nearest("--layout", commands), "--layout-seed");
  EXPECT_EQ(nearest("foo", commands), "");
  EXPECT_EQ(nearest("x", commands), "");
  EXPECT_EQ(nearest("", commands), "");
  EXPECT_EQ(nearest("-q", commands), "");
}

TEST(Settings, UnknownOnesAreNamedWithTheNearest) {
  const char* const fine[] = {"TASUKI=on", "TASUKI_SPIN=1", "TASUKI_RANK=0", "TASUKI_TEST_MARK=1",
                              "TASUKIX=1", "HOME=/",        nullptr};
  testing::internal::CaptureStderr();
  warn_of_unknown_settings(fine);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const char* const wrong[] = {"TASUKI_SPIM=1", "TASUKI_DLM_PAGESIZE=4096", "TASUKI_WEATHER=fair", nullptr};
  testing::internal::CaptureStderr();
  warn_of_unknown_settings(wrong);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("TASUKI_SPIM is set, but Tasuki has no such setting; is TASUKI_SPIN meant?"),
            std::string::npos)
      << said;
  EXPECT_NE(
      said.find("TASUKI_DLM_PAGESIZE is set, but Tasuki has no such setting; is TASUKI_DLM_PAGE_SIZE meant?"),
      std::string::npos)
      << said;
  EXPECT_NE(said.find("TASUKI_WEATHER is set, but Tasuki has no such setting (`tasuki settings`"),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace tasuki
