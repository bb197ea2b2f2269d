#include "base/settings.h"
#include "base/bytes.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tasuki {
namespace {

TEST(Settings, EveryDefaultParses) {
  for (const Setting& s : settings()) {
    unsetenv(s.name);
    testing::internal::CaptureStderr();
    switch (s.kind) {
      case SettingKind::flag:
        setting_flag(s.name);
        break;
      case SettingKind::bytes: {
        uint64_t bytes = 0;  // which stands for Tasuki's own choice in some
        EXPECT_TRUE(parse_bytes(s.default_value, ByteUnits::binary, &bytes)) << s.name;
        EXPECT_EQ(setting_bytes(s.name), bytes) << s.name;
        break;
      }
      case SettingKind::count:
        setting_count(s.name);
        break;
      case SettingKind::count_or_auto:
        EXPECT_GE(setting_count_or_auto(s.name), -1) << s.name;
        break;
      case SettingKind::choice:
        EXPECT_GE(setting_choice(s.name), 0) << s.name;
        break;
      case SettingKind::text:
        EXPECT_NE(setting_text(s.name), nullptr);
        break;
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << s.name;
    EXPECT_GT(std::string_view(s.help).size(), 10u) << s.name;
  }
}

TEST(Settings, CountOrAuto) {
  EXPECT_EQ(setting_count_or_auto("TASUKI_THREADS"), -1);
  setenv("TASUKI_THREADS", "3", 1);
  EXPECT_EQ(setting_count_or_auto("TASUKI_THREADS"), 3);
  for (const char* bad : {"-1", "many", "1.5", "99999999999"}) {
    setenv("TASUKI_THREADS", bad, 1);
    testing::internal::CaptureStderr();
    EXPECT_EQ(setting_count_or_auto("TASUKI_THREADS"), -1) << bad;
    EXPECT_NE(testing::internal::GetCapturedStderr().find(bad), std::string::npos);
  }
  unsetenv("TASUKI_THREADS");
}

TEST(Settings, InvalidValueIsReportedAndTheDefaultUsed) {
  setenv("TASUKI_PROTOCOL", "telepathy", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(setting_choice("TASUKI_PROTOCOL"), 0);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("TASUKI_PROTOCOL=telepathy"), std::string::npos) << text;
  EXPECT_NE(text.find("auto|eager|direct|pipelined"), std::string::npos) << text;
  setenv("TASUKI_PROTOCOL", "pipelined", 1);
  EXPECT_EQ(setting_choice("TASUKI_PROTOCOL"), 3);
  unsetenv("TASUKI_PROTOCOL");
}

}  // namespace
}  // namespace tasuki
