// What `tasuki bench apps` says of its measurement: table, charts, page, comparison.
#include "bench/driver/benchmarks/apps.h"

#include <gtest/gtest.h>

#include "bench/driver/benchmarks/sweep.h"
#include "bench/driver/reports/report.h"
#include "bench/plot/apps_page.h"
#include "bench/plot/page.h"
#include "bench/test/measurement.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

json make_row(const std::string& program, const std::string& size, const std::string& where,
              const std::string& mpi, double plain, double tasuki) {
  json r = {{"program", program},
            {"size", size},
            {"ranks", 2},
            {"where", where},
            {"mpi", mpi},
            {"pattern", program + " " + size + ", 2 ranks, " + where + ", " + mpi},
            {"bytes", 4096},
            {"plain_us", plain},
            {"tasuki_us", tasuki},
            {"ratio", plain / tasuki},
            {"plain_spread_us", {plain, 2 * plain}},
            {"tasuki_spread_us", {tasuki, tasuki}},
            {"plain_communication", 0.75},
            {"tasuki_communication", 0.5},
            {"noisy", true},
            {"verified", true}};
  if (where == "node") r["paper"] = program == "fft2d" ? "5 to 27 %" : "4 to 6 %";
  return r;
}

json make_measurement() {
  return measurement("apps", 3,
                     {{"rows",
                       {make_row("fft2d", "1024", "node", "openmpi", 30000, 24000),
                        make_row("fft2d", "2048", "node", "openmpi", 90000, 60000),
                        make_row("fft2d", "1024", "node", "mpich", 25000, 24000),
                        make_row("wavefront", "W", "hosts", "openmpi", 4000, 5000)}},
                      {"contiguous", json::array()},
                      {"geomean", 1.25},
                      {"verified", true},
                      {"notes", json::array()}},
                     "openmpi,mpich", "Open MPI v4 and MPICH 4");
}

json make_failed() {
  json m = make_measurement();
  json& r = m["rows"][1];
  for (const char* key : {"ratio", "plain_communication", "tasuki_communication", "noisy"}) r.erase(key);
  r["plain_us"] = r["tasuki_us"] = nullptr;
  r["verified"] = m["verified"] = false;
  r["finished"] = true;
  r["failure"] = "Tasuki: wrong result: exit code 1";
  return m;
}

TEST(AppsReport, TableHasTimesGainsAndThePapersBesideThem) {
  const std::string text = table(make_measurement());
  EXPECT_NE(
      text.find("fft2d        1024     2 node  openmpi       30.00      24.00   +25.0 %     75 %     50 %  "
                "5 to 27 %  yes ~\n"),
      std::string::npos)
      << text;
  EXPECT_NE(
      text.find("wavefront       W     2 hosts openmpi      4.0000     5.0000   -20.0 %     75 %     50 %  "
                "        -  yes ~\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("21 % (9,600 x 9,600)"), std::string::npos) << text;
}

TEST(AppsReport, AFailureIsALineWithItsReason) {
  const std::string text = table(make_failed());
  EXPECT_NE(text.find("fft2d        2048     2 node  openmpi  FAILED\n"), std::string::npos) << text;
  EXPECT_NE(text.find("VERIFICATION FAILED: fft2d 2048, 2 ranks, node, openmpi: Tasuki: wrong result"),
            std::string::npos)
      << text;
  EXPECT_NE(page({make_failed()}).find("\"charts\": [{\"title\""), std::string::npos);
}

TEST(AppsReport, ChartsAreGainsAndTimes) {
  const std::vector<report::Chart> charts = apps_charts(make_measurement());
  ASSERT_EQ(charts.size(), 4u);
  EXPECT_TRUE(charts[0].ratio);
  EXPECT_EQ(charts[0].groups,
            (std::vector<std::string>{"fft2d 1024, 2", "fft2d 2048, 2", "wavefront W, 2 on two hosts"}));
  ASSERT_EQ(charts[0].series.size(), 2u);
  EXPECT_EQ(charts[0].series[1].points, (std::vector<std::pair<double, double>>{{0, 25.0 / 24}}));
  EXPECT_EQ(charts[1].title, "fft2d: time of a transform, openmpi");
  EXPECT_EQ(charts[1].groups, (std::vector<std::string>{"1024, 2", "1024, 2 run", "2048, 2", "2048, 2 run"}));
  EXPECT_DOUBLE_EQ(charts[1].series[0].points[0].second, 7.5);
  EXPECT_DOUBLE_EQ(charts[1].series[1].points[1].second, 12);
  EXPECT_EQ(charts[3].title, "wavefront: time of an iteration, openmpi");
}

TEST(AppsReport, PageHasThePapersGainsBesideOurs) {
  const std::string html = page({make_measurement()});
  EXPECT_NE(html.find("5 to 27 %\", \"25.0 to 50.0 %"), std::string::npos);
  EXPECT_EQ(html.find("4 to 6 %\", \""), std::string::npos);  // no row inside a node
  EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  EXPECT_NE(csv(make_measurement()).find("plain_communication"), std::string::npos);
}

TEST(AppsReport, ComparisonIsRowByRow) {
  json faster = make_measurement();
  faster["rows"][0]["tasuki_us"] = 12000;
  const std::string text = comparison(make_measurement(), faster);
  EXPECT_NE(text.find("24000      12000     2.00     1.00     2.00"), std::string::npos) << text;
  EXPECT_EQ(text.find("only in"), std::string::npos) << text;
}

TEST(Apps, HaveSizes) {
  EXPECT_EQ(app_with_size("fft2d").value(), "fft2d:1024");
  EXPECT_EQ(app_with_size("wavefront:W").value(), "wavefront:W");
  EXPECT_NE(app_with_size("fft2d:1000").status().message().find("powers of two"), std::string::npos);
  EXPECT_NE(app_with_size("wavefront:C").status().message().find("has the sizes S W A B"), std::string::npos);
  EXPECT_NE(app_with_size("lu").status().message().find("the programs are fft2d and wavefront"),
            std::string::npos);
}

}  // namespace
}  // namespace tasuki::bench
