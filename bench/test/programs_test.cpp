// What `tasuki bench coarray --programs` says of its measurement: table, charts, page, comparison.
#include "bench/driver/benchmarks/programs.h"

#include <gtest/gtest.h>

#include "bench/driver/benchmarks/sweep.h"
#include "bench/driver/reports/report.h"
#include "bench/plot/page.h"
#include "bench/plot/programs_page.h"
#include "bench/test/measurement.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

json make_row(const char* version, const char* way, int ranks, double seconds) {
  return {{"program", "himeno"},
          {"size", "M"},
          {"ranks", ranks},
          {"grid", "2x1"},
          {"version", version},
          {"way", way},
          {"pattern", std::string("himeno M, ") + std::to_string(ranks) + " ranks, " + version + ", " + way},
          {"unit", "MFLOPS"},
          {"verified", true},
          {"seconds", seconds},
          {"compute", 0.75 * seconds},
          {"communication", 0.125 * seconds},
          {"reduction", 0.125 * seconds},
          {"best_seconds", seconds / 2},
          {"spread_seconds", {seconds / 2, seconds}},
          {"noisy", false},
          {"performance", 8 / seconds}};
}

json make_measurement() {
  json m = measurement(
      "coarray-programs", 3,
      {{"rows",
        {make_row("seq", "plain", 1, 0.5), make_row("mpi", "plain", 2, 0.25),
         make_row("local", "plain", 2, 0.25), make_row("local", "windows", 2, 0.5),
         make_row("local", "run", 2, 0.2)}},
       {"contiguous", json::array()},
       {"lines",
        {{{"program", "himeno"}, {"version", "local"}, {"own", 60}, {"shared", 140}, {"paper", 395}}}},
       {"geomean", 1.25},
       {"verified", true},
       {"notes", json::array()}});
  m["rows"][4]["of_send"] = 1.25;
  return m;
}

TEST(ProgramsReport, TableHasTimesAndLines) {
  const std::string text = table(make_measurement());
  EXPECT_NE(text.find("-- himeno M, milliseconds of an iteration"), std::string::npos) << text;
  EXPECT_NE(text.find("local view                 2 tasuki run         40.0     200.00     150.00      25.00 "
                      "     25.00    125.0%"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("himeno   local view                   60      140      200        395"),
            std::string::npos)
      << text;
}

TEST(ProgramsReport, AFailureIsALineWithItsReason) {
  json m = make_measurement();
  json& r = m["rows"][2];
  for (const char* key : {"seconds", "compute", "communication", "reduction", "performance"}) r.erase(key);
  r["verified"] = r["finished"] = false;
  r["failure"] =
      "not compiled by 'tasukicc x.c': exit code 1, output:\nx.c: In function:\nx.c:3: error: no such "
      "image\n";
  const std::string text = table(m);
  EXPECT_NE(
      text.find(
          "local view                 2 plain      FAILED: not compiled: x.c:3: error: no such image\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("NOT FINISHED: himeno M, 2 ranks, local, plain: not compiled by 'tasukicc x.c'"),
            std::string::npos)
      << text;
  EXPECT_NE(page({m}).find("\"charts\": [{\"title\""), std::string::npos);
  EXPECT_NE(comparison(make_measurement(), m).find("only in old: himeno M, 2 ranks, local, plain"),
            std::string::npos);
}

TEST(ProgramsReport, ChartsArePerformanceTimesAndLines) {
  const std::vector<report::Chart> charts = programs_charts(make_measurement());
  ASSERT_EQ(charts.size(), 3u);
  EXPECT_EQ(charts[0].title, "Himeno benchmark, size M: performance, Open MPI v4");
  EXPECT_EQ(charts[0].groups, (std::vector<std::string>{"seq", "s/r", "L"}));
  ASSERT_EQ(charts[0].series.size(), 3u);
  EXPECT_EQ(charts[0].series[2].points, (std::vector<std::pair<double, double>>{{2, 40}}));
  EXPECT_EQ(charts[1].groups, (std::vector<std::string>{"seq", "s/r", "L", "L win", "L run"}));
  EXPECT_TRUE(charts[1].stacked);
  EXPECT_DOUBLE_EQ(charts[1].series[0].points[4].second, 150);
  EXPECT_EQ(charts[2].groups, (std::vector<std::string>{"H L"}));
  EXPECT_DOUBLE_EQ(charts[2].series[1].points[0].second, 140);
}

TEST(ProgramsReport, SeveralNumbersOfRanksAreGroups) {
  json m = make_measurement();
  m["rows"].push_back(make_row("mpi", "plain", 4, 0.125));
  const std::vector<report::Chart> charts = programs_charts(m);
  ASSERT_EQ(charts.size(), 4u);
  EXPECT_EQ(charts[0].groups, (std::vector<std::string>{"seq 1", "s/r 2", "L 2", "s/r 4"}));
  EXPECT_EQ(charts[2].title, "Himeno benchmark, size M: time of an iteration, 4 ranks, Open MPI v4");
  EXPECT_EQ(charts[2].groups, (std::vector<std::string>{"seq", "s/r"}));
}

TEST(ProgramsReport, PageHasThePapersNumbersBesideOurs) {
  const std::string html = page({make_measurement()});
  EXPECT_NE(html.find("85 % (M), 92 % (L) to 102 %\", \"tasuki run 125.0 %"), std::string::npos);
  EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  EXPECT_NE(csv(make_measurement()).find("communication"), std::string::npos);
}

TEST(ProgramsReport, ComparisonIsRowByRow) {
  json faster = make_measurement();
  faster["rows"][4]["seconds"] = 0.1;
  const std::string text = comparison(make_measurement(), faster);
  EXPECT_NE(text.find("local, run                                  200.00     100.00     2.00     1.00"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("only in"), std::string::npos) << text;
}

TEST(Programs, HaveSizes) {
  EXPECT_EQ(program_with_size("cg").value(), "cg:A");
  EXPECT_EQ(program_with_size("himeno:XS").value(), "himeno:XS");
  EXPECT_NE(program_with_size("cg:XS").status().message().find("has the sizes S W A B C"), std::string::npos);
  EXPECT_FALSE(program_with_size("mg").ok());
}

}  // namespace
}  // namespace tasuki::bench
