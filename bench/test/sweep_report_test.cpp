// The sweeps' results as text and as a page.
#include <gtest/gtest.h>

#include "bench/driver/benchmarks/sweep.h"
#include "bench/driver/reports/report.h"
#include "bench/plot/page.h"
#include "bench/test/measurement.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

json make_row(int block, int count, double plain, double tasuki) {
  return {{"pattern", "pack " + std::to_string(count) + " x " + std::to_string(block) + ", no helper thread"},
          {"operation", "pack"},
          {"bytes", block * count},
          {"block", block},
          {"count", count},
          {"helpers", 0},
          {"plain_us", plain},
          {"tasuki_us", tasuki},
          {"ratio", plain / tasuki},
          {"plain_spread_us", {plain, plain}},
          {"verified", true}};
}

json make_sweep() {
  const json figure = {{"title", "MPI_Pack: plain MPI against Tasuki"},
                       {"caption", "Speed-up."},
                       {"where", {{"operation", "pack"}, {"helpers", 0}}},
                       {"kind", "ratio"},
                       {"of", {"plain_us", "tasuki_us"}},
                       {"x", "block"},
                       {"y", "count"}};
  json rate = figure;
  rate["title"] = "MPI_Pack: Tasuki";
  rate["kind"] = "rate";
  rate["of"] = {"tasuki_us"};
  return measurement(
      "pack", 3,
      {{"rows", {make_row(64, 1, 2, 1), make_row(64, 4096, 30, 120), make_row(65536, 1, 60, 10)}},
       {"contiguous", json::array()},
       {"figures", {figure, rate}},
       {"geomean", 1.44},
       {"verified", true},
       {"notes", json::array()}});
}

TEST(SweepReport, TableIsAMatrixOfEachFigure) {
  const std::string text = table(make_sweep());
  EXPECT_NE(text.find(" count\\block     64   64Ki\n"
                      "           1   2.00   6.00\n"
                      "         4Ki   0.25       \n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("MPI_Pack: Tasuki [GB/s]"), std::string::npos) << text;
  EXPECT_NE(text.find("           1   0.06   6.55\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of 3 rows are slower"), std::string::npos) << text;
  EXPECT_NE(text.find("0.25  pack 4096 x 64"), std::string::npos) << text;
}

TEST(SweepReport, CsvHasEveryScalarColumn) {
  const std::string text = csv(make_sweep());
  EXPECT_EQ(text.rfind("operation,pattern,bytes,", 0), 0u) << text;
  EXPECT_NE(text.find("plain_spread_us.high"), std::string::npos) << text;
  EXPECT_NE(text.find("\npack,\"pack 1 x 64, no helper thread\",64,"), std::string::npos) << text;
}

TEST(SweepReport, PageHasHeatMapsAndNoExternalResource) {
  const std::string html = page({make_sweep()});
  EXPECT_NE(html.find("function heatMap"), std::string::npos);
  EXPECT_NE(html.find("pack 4096 x 64"), std::string::npos);
  EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  EXPECT_EQ(html.find("href=\"http"), std::string::npos);
}

TEST(SweepReport, ComparisonKnowsRowsOfOneNameByTheirOperation) {
  json older = make_sweep();
  for (json& r : older["rows"]) r["pattern"] = "same", r["bytes"] = 8;
  older["rows"][1]["operation"] = "unpack";
  older["rows"].erase(2);
  const std::string text = comparison(older, older);
  EXPECT_EQ(text.find("only in"), std::string::npos) << text;
  EXPECT_NE(text.find("120"), std::string::npos) << text;
}

}  // namespace
}  // namespace tasuki::bench
