// What `tasuki bench coarray` says of its measurement: tables, charts, page.
#include "bench/driver/benchmarks/coarray.h"

#include <gtest/gtest.h>

#include "bench/driver/benchmarks/sweep.h"
#include "bench/driver/reports/report.h"
#include "bench/plot/coarray_page.h"
#include "bench/plot/page.h"
#include "bench/test/measurement.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

json make_row(const char* operation, const char* section, int bytes, json send, double rma, double run) {
  json r = {{"operation", operation}, {"pattern", operation},
            {"section", section},     {"bytes", bytes},
            {"rma_us", rma},          {"host_us", 2 * run},
            {"window_us", 1.5 * rma}, {"run_us", run},
            {"tasuki_us", run},       {"plain_us", send.is_null() ? json(rma) : send},
            {"of_rma", 1.5},          {"ratio", rma / run},
            {"verified", true}};
  if (send.is_null()) return r;
  r["send_us"] = send;
  r["of_send"] = run / send.get<double>();
  return r;
}

json make_measurement() {
  return measurement("coarray", 3,
                     {{"rows",
                       {make_row("put ping-pong", "1 double", 8, 0.5, 0.4, 0.125),
                        make_row("put ping-pong", "128 doubles", 1024, 1, 2, 0.5),
                        make_row("put", "1 double", 8, nullptr, 0.25, 0.125),
                        make_row("section get", "column of 64 x 64", 512, 8, 4, 2)}},
                      {"contiguous", json::array()},
                      {"geomean", 2},
                      {"verified", true},
                      {"notes", json::array()}});
}

TEST(CoarrayReport, TableHasAPartForEachOperation) {
  const std::string text = table(make_measurement());
  EXPECT_NE(text.find("-- put ping-pong\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1 double                                8      0.50      0.40      0.25      0.60     "
                      " 0.12     0.25"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("tasuki run / Send and Recv: 0.35 on average, 0.50 at most (128 doubles)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("1 double                                8         -      0.25"), std::string::npos)
      << text;
  EXPECT_NE(text.find("tasuki run / the faster packed transfer: 0.25"), std::string::npos) << text;
}

TEST(CoarrayReport, AFailureIsMarkedInItsRow) {
  json m = make_measurement();
  m["rows"][1]["verified"] = false;
  m["rows"][1]["failure"] = "element 3 is wrong";
  const std::string text = table(m);
  EXPECT_NE(text.find("1.50 NO\n"), std::string::npos) << text;
  EXPECT_NE(text.find("VERIFICATION FAILED: element 3 is wrong"), std::string::npos) << text;
}

TEST(CoarrayReport, ChartsAreLatencyBandwidthAndSections) {
  const std::vector<report::Chart> charts = coarray_charts(make_measurement());
  ASSERT_EQ(charts.size(), 4u);
  EXPECT_EQ(charts[0].title, "Ping-pong by put: latency, Open MPI v4");
  EXPECT_EQ(charts[0].groups, (std::vector<std::string>{"8 B", "1 KiB"}));
  ASSERT_EQ(charts[0].series.size(), 5u);
  EXPECT_DOUBLE_EQ(charts[0].series[4].points[1].second, 0.5);
  EXPECT_DOUBLE_EQ(charts[1].series[4].points[1].second, 1024 / 0.5 / 1e3);
  EXPECT_EQ(charts[2].series.size(), 4u);  // one put has no Send and Recv
  EXPECT_TRUE(charts[3].ratio);
  EXPECT_DOUBLE_EQ(charts[3].series[0].points[0].second, 8.0 / 4);  // of the faster packed transfer
}

TEST(CoarrayReport, PageAndCsv) {
  const std::string html = page({make_measurement(), make_measurement()});
  EXPECT_NE(html.find("Ping-pong by put: bandwidth"), std::string::npos);
  EXPECT_NE(html.find("The XcalableACC paper is Tabuchi"), std::string::npos);
  EXPECT_EQ(html.find("src=\"http"), std::string::npos);
  EXPECT_NE(csv(make_measurement()).find("window_us"), std::string::npos);
}

TEST(CoarraySections, LieInTheirArrays) {
  for (const CoarraySection& s : coarray_sections())
    for (int i = 0; i < 3; i++) {
      EXPECT_GT(s.length[i], 0u) << s.name;
      EXPECT_LE(s.lower[i] + s.length[i], s.extent[i]) << s.name;
    }
}

}  // namespace
}  // namespace tasuki::bench
