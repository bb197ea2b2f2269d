// The measurement of `tasuki bench space` as text and as a page.
#include <gtest/gtest.h>

#include "bench/driver/benchmarks/space.h"
#include "bench/driver/jobs/launch.h"
#include "bench/driver/reports/report.h"
#include "bench/plot/page.h"
#include "bench/plot/space_page.h"
#include "bench/test/measurement.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

json space_row(const std::string& operation, uint64_t bytes, int ranks, double plain, double tasuki) {
  return {{"pattern", operation + ", " + std::to_string(ranks) + " ranks, openmpi"},
          {"operation", operation},
          {"bytes", bytes},
          {"ranks", ranks},
          {"mpi", "openmpi"},
          {"plain_us", plain},
          {"tasuki_us", tasuki},
          {"plain_slowest_us", plain + 1},
          {"tasuki_slowest_us", tasuki + 1},
          {"ratio", plain / tasuki},
          {"plain_spread_us", {plain, plain}},
          {"tasuki_spread_us", {tasuki, tasuki}},
          {"verified", true}};
}

json space_measurement() {
  json refused = space_row("readv", 65536, 2, 1, 1);
  for (const char* column : {"ratio", "plain_slowest_us", "tasuki_slowest_us"}) refused.erase(column);
  refused["plain_us"] = refused["tasuki_us"] = nullptr;
  refused["refused"] = "Tasuki: process_vm_readv: Operation not permitted";
  return measurement("space", 3,
                     {{"rows",
                       {space_row("mmap", 65536, 1, 40, 50), space_row("fork", 0, 1, 600, 1200),
                        space_row("mmap", 65536, 2, 40, 80), refused}},
                      {"contiguous", json::array()},
                      {"geomean", 0.58},
                      {"verified", true},
                      {"notes", json::array()}});
}

TEST(SpaceReport, TableHasTheRowsOfEachNumberOfRanks) {
  const std::string text = table(space_measurement());
  EXPECT_NE(text.find("-- openmpi, 1 rank\n"
                      "mmap, touch, munmap 64Ki              40.0       50.0    0.80          41.0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nfork, exec, wait                     600.0       1200    0.50"), std::string::npos)
      << text;
  EXPECT_NE(text.find("-- openmpi, 2 ranks\nmmap"), std::string::npos) << text;
}

TEST(SpaceReport, RowSaysThatAnOperationIsNotPermitted) {
  const std::string text = table(space_measurement());
  EXPECT_NE(text.find("not permitted: Tasuki: process_vm_readv: Operation not permitted"), std::string::npos)
      << text;
}

TEST(SpaceReport, WrongResultIsNamed) {
  json m = space_measurement();
  m["rows"][1]["verified"] = false;
  m["rows"][1]["failure"] = "Tasuki: rank 1: /bin/true ended with status 0x7f00";
  const std::string text = table(m);
  EXPECT_NE(text.find("  NO\n"), std::string::npos) << text;
  EXPECT_NE(text.find("VERIFICATION FAILED: fork, 1 ranks, openmpi: Tasuki: rank 1: /bin/true"),
            std::string::npos)
      << text;
}

TEST(SpaceReport, ComparisonFindsItsRowsAgain) {
  const std::string text = comparison(space_measurement(), space_measurement());
  EXPECT_EQ(text.find("only in"), std::string::npos) << text;
  EXPECT_NE(text.find("1.00"), std::string::npos) << text;
}

TEST(SpaceReport, MappingsOfRanksAreStatisticsAndAdviceIsNot) {
  std::string rest;
  const double sent = messages_sent(
      "tasuki: rank 0: sent=12 sent_bytes=96\n"
      "tasuki: mappings of rank 0: 5000, 2500 a second (mmap, munmap, mremap)\n"
      "tasuki: rank 0 maps and unmaps often: ...\n",
      &rest);
  EXPECT_EQ(sent, 12);
  EXPECT_EQ(rest, "tasuki: rank 0 maps and unmaps often: ...\n");
}

TEST(SpaceReport, StatisticsMayStandWithinAnotherLine) {
  std::vector<std::string> statistics;
  const std::string rest = without_statistics(
      "{\"size\": 64, tasuki: rank 1: sent=3 barriers=1\n\"verified\": true}\n", &statistics);
  EXPECT_EQ(rest, "{\"size\": 64, \"verified\": true}\n");
  ASSERT_EQ(statistics.size(), 1u);
}

TEST(SpacePage, ChartHasACurveForEachNumberOfRanks) {
  const std::vector<report::Chart> charts = space_charts(space_measurement());
  ASSERT_EQ(charts.size(), 1u);
  EXPECT_EQ(charts[0].groups, (std::vector<std::string>{"mmap, touch, munmap 64Ki", "fork, exec, wait"}));
  ASSERT_EQ(charts[0].series.size(), 2u);
  EXPECT_EQ(charts[0].series[0].name, "1 rank");
  EXPECT_EQ(charts[0].series[0].points, (std::vector<std::pair<double, double>>{{0, 1.25}, {1, 2}}));
  EXPECT_EQ(charts[0].series[1].points, (std::vector<std::pair<double, double>>{{0, 2}}));
}

TEST(SpacePage, NeedsNoNetwork) {
  const std::string html = page({space_measurement()});
  EXPECT_NE(html.find("shared address space"), std::string::npos);
  EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  EXPECT_EQ(html.find("href=\"http"), std::string::npos);
}

}  // namespace
}  // namespace tasuki::bench
