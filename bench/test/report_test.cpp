#include "bench/driver/reports/report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "bench/driver/jobs/machine.h"
#include "bench/plot/page.h"
#include "bench/test/measurement.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

json make_row(const char* pattern, int bytes, double plain, double tasuki) {
  return {{"pattern", pattern},
          {"description", "a test"},
          {"bytes", bytes},
          {"plain_us", plain},
          {"tasuki_us", tasuki},
          {"ratio", plain / tasuki},
          {"touched_plain_us", plain * 3},
          {"touched_tasuki_us", tasuki * 2},
          {"touched_ratio", plain * 3 / (tasuki * 2)},
          {"limit_us", tasuki * 1.5},
          {"limit_ratio", 0.75},
          {"memcpy_us", 0.0123},
          {"direct_us", 1.5},
          {"verified", true},
          {"plain_spread_us", {plain * 0.9, plain * 1.1}},
          {"tasuki_spread_us", {tasuki, tasuki}}};
}

json make_measurement() {
  return measurement("ddt", 7,
                     {{"rows", {make_row("WRF_x_vec", 63168, 24, 12), make_row("NAS_MG_x", 32768, 10, 40)}},
                      {"contiguous", {make_row("contiguous", 8, 0.25, 0.25)}},
                      {"geomean", 0.7071},
                      {"geomean_touched", 1.0607},
                      {"geomean_limit", 0.75},
                      {"verified", true},
                      {"notes", json::array()}});
}

std::string temporary_file(const std::string& text) {
  const std::string path = testing::TempDir() + "report_test." + std::to_string(getpid()) + ".json";
  std::ofstream(path) << text;
  return path;
}

TEST(Report, TableHasEveryRowItsRatioAndTheMean) {
  const std::string text = table(make_measurement());
  EXPECT_NE(
      text.find("WRF_x_vec        63168      72.0      24.0   3.00      18.0  0.75      24.0      12.0   "
                "2.00  yes"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find("NAS_MG_x         32768      30.0      80.0   0.38      60.0  0.75      10.0      40.0   "
                "0.25"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find(
          "geometric mean                               1.06            0.75                       0.71"),
      std::string::npos)
      << text;
  EXPECT_LT(text.find("geometric mean"), text.find("contiguous"));
}

TEST(Report, ASmallRatioIsNotZero) {
  json m = make_measurement();
  m["rows"][1]["ratio"] = 0.00312;
  EXPECT_NE(table(m).find("0.0031"), std::string::npos) << table(m);
}

TEST(Report, WhatWasNotMeasuredIsADash) {
  json m = make_measurement();
  for (json& r : m["rows"])
    for (const char* column :
         {"touched_plain_us", "touched_tasuki_us", "touched_ratio", "limit_us", "limit_ratio"})
      r.erase(column);
  m.erase("geomean_touched");
  m.erase("geomean_limit");
  EXPECT_NE(table(m).find("63168         -         -      -         -     -      24.0"), std::string::npos)
      << table(m);
}

TEST(Report, TableShowsWhatFailed) {
  json m = make_measurement();
  m["rows"][0]["verified"] = false;
  m["rows"][0]["tasuki_us"] = nullptr;
  m["rows"][0].erase("ratio");
  m["rows"][0]["failure"] = "rank 1: byte 17 is wrong";
  const std::string text = table(m);
  EXPECT_NE(text.find("NO\n"), std::string::npos) << text;
  EXPECT_NE(text.find("VERIFICATION FAILED: rank 1: byte 17 is wrong"), std::string::npos) << text;
}

TEST(Report, ComparisonMatchesRowsByPatternAndBytes) {
  json older = make_measurement(), newer = make_measurement();
  newer["rows"][0]["tasuki_us"] = 6;   // twice as fast
  newer["rows"][1]["bytes"] = 131072;  // another row
  const std::string text = comparison(older, newer);
  EXPECT_NE(text.find("WRF_x_vec              63168       12.0       6.00     2.00     1.00     2.00"),
            std::string::npos)
      << text;
  EXPECT_LT(text.find("touched messages"), text.find("untouched messages"));
  EXPECT_NE(text.find("only in new: NAS_MG_x 131072"), std::string::npos) << text;
  EXPECT_NE(text.find("only in old: NAS_MG_x 32768"), std::string::npos) << text;
  EXPECT_NE(text.find("geometric mean                                         2.00     1.00     2.00"),
            std::string::npos)
      << text;
}

TEST(Report, ReadsWhatWasWrittenAndRefusesTheRest) {
  const std::string good = temporary_file(make_measurement().dump());
  EXPECT_TRUE(read_measurement(good).ok());
  const struct {
    std::string text, says;
  } cases[] = {{"{", "not JSON"},
               {"[]", "not a measurement"},
               {R"({"benchmark":"ddt","format":2})", "format 2"},
               {R"({"benchmark":"ddt","format":1})", "has no"}};
  for (const auto& c : cases) {
    const Result<json> m = read_measurement(temporary_file(c.text));
    ASSERT_FALSE(m.ok()) << c.text;
    EXPECT_NE(m.status().message().find(c.says), std::string::npos) << m.status().message();
  }
  unlink(good.c_str());
  EXPECT_EQ(read_measurement(good).status().err(), ENOENT);
}

TEST(Page, NamesTheCommandIfItIsKnown) {
  json m = make_measurement();
  EXPECT_EQ(page({m}).find("Command"), std::string::npos);
  m["settings"]["command"] = "tasuki bench ddt --seconds 3";
  const std::string html = page({m});
  EXPECT_NE(html.find("Command"), std::string::npos);
  EXPECT_LT(html.find("</main>"), html.find("tasuki bench ddt --seconds 3"));
}

TEST(Page, HoldsTheDataAndNothingFromOutside) {
  json m = make_measurement();
  m["notes"] = {"</script><b>not an element</b>"};
  const std::string html = page({m, m});
  EXPECT_EQ(html.find("{{data}}"), std::string::npos);
  EXPECT_EQ(html.find("{{numbers}}"), std::string::npos);
  EXPECT_EQ(html.find("</script><b>"), std::string::npos);
  EXPECT_NE(html.find("WRF_x_vec"), std::string::npos);
  // What must be known before a number is believed stands before all of them.
  EXPECT_LT(html.find("&lt;b&gt;not an element"), html.find("<main"));
  for (const char* outside : {"src=", "<link", "@import", "url(", "fetch("})
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  // What the page's script will parse is the measurement itself.
  const std::string begin = "id=\"data\">";
  const size_t at = html.find(begin) + begin.size();
  const json parsed = json::parse(html.substr(at, html.find("</script>", at) - at), nullptr, false);
  ASSERT_FALSE(parsed.is_discarded());
  EXPECT_EQ(parsed, json({m, m}));
}

TEST(Machine, SaysWhatAReaderNeeds) {
  const json m = describe_machine();
  EXPECT_GT(m["cores"].get<int>(), 0);
  EXPECT_GT(m["memory_bytes"].get<int64_t>(), 1 << 20);
  EXPECT_FALSE(m["kernel"].get<std::string>().empty());
}

}  // namespace
}  // namespace tasuki::bench
