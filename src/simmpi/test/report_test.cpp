// What comes out of a simulation, read back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "netsim/simulate.h"
#include "simmpi/report/data.h"
#include "simmpi/report/page.h"
#include "simmpi/test/example_report.h"

namespace tasuki::simmpi {
namespace {

using nlohmann::json;

const Example& torus() {
  static const Example e = make_example(netsim::paper_machine({5, 5}), "a2at", 20000, 0);
  return e;
}

std::vector<std::vector<std::string>> table(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    rows.emplace_back();
    std::istringstream fields(line + ',');
    for (std::string f; std::getline(fields, f, ',');) rows.back().push_back(f);
  }
  return rows;
}
double sum(const std::vector<std::vector<std::string>>& rows, size_t column) {
  double total = 0;
  for (size_t i = 1; i < rows.size(); i++) total += std::stod(rows[i].at(column));
  return total;
}

TEST(Report, JsonHoldsTheCompleteResult) {
  const Example& e = torus();
  ASSERT_EQ(e.error, "");
  const netsim::Results& r = e.outcome.results;
  const json j = json::parse(to_json(e.report(true)));
  EXPECT_DOUBLE_EQ(j.at("time_s"), static_cast<double>(e.outcome.time) * 1e-12);
  EXPECT_EQ(j.at("time_ps"), e.outcome.time);
  EXPECT_DOUBLE_EQ(j.at("ideal_s"), static_cast<double>(r.ideal) * 1e-12);
  EXPECT_EQ(j.at("packet_hops"), r.packet_hops);
  EXPECT_EQ(j.at("messages"), r.messages);
  EXPECT_EQ(j.at("threads"), 1);
  EXPECT_GT(j.at("wall_s"), 0);
  EXPECT_EQ(std::stoull(j.at("hash").get<std::string>(), nullptr, 16), r.hash);
  EXPECT_EQ(j.at("model"), "packet");
  EXPECT_EQ(j.at("machine").at("extents"), json({5, 5}));
  EXPECT_EQ(j.at("settings").at("schedule"), "a2at");

  ASSERT_EQ(j.at("links").size(), 100u);
  uint64_t packets = 0;
  double busy = 0;
  for (const json& l : j.at("links")) {
    packets += l.at("packets").get<uint64_t>();
    busy += l.at("busy_ratio").get<double>() / 100;
    EXPECT_NE(l.at("from"), l.at("to"));
  }
  EXPECT_EQ(packets, r.packet_hops);
  // Links one by one, by class and over time say the same.
  double by_class = 0;
  for (const json& c : j.at("classes")) by_class += c.at("busy_ratio").get<double>() / 4;
  EXPECT_NEAR(by_class, busy, 1e-6);
  double over_time = 0;
  const json& average = j.at("link_throughput").at("average");
  ASSERT_EQ(average.size(), j.at("bins").at("count"));
  for (uint32_t b = 0; b < average.size(); b++)
    over_time += average[b].get<double>() / 4e9 * static_cast<double>(bin_length(r, b));
  EXPECT_NEAR(over_time / static_cast<double>(r.end), busy, 1e-4);
  EXPECT_EQ(j.at("buffer_bytes").size(), 8u);

  uint64_t delivered = 0, in_buckets = 0;
  for (const json& l : j.at("latency")) {
    delivered += l.at("packets").get<uint64_t>();
    for (const json& b : l.at("buckets")) in_buckets += b[1].get<uint64_t>();
    EXPECT_LE(l.at("min_s"), l.at("p50_s"));
    EXPECT_LE(l.at("p50_s"), l.at("p99_s"));
    EXPECT_LE(l.at("p99_s"), l.at("max_s"));
  }
  EXPECT_EQ(delivered, r.packets);
  EXPECT_EQ(in_buckets, r.packets);
  ASSERT_EQ(j.at("sequences").size(), e.outcome.sequences.size());
  EXPECT_NEAR(j.at("sequences")[1].at("imbalance_s").get<double>(),
              seconds(e.outcome.sequences[1].imbalance()), 1e-15);
  EXPECT_EQ(j.at("ranks").size(), 25u);
}

TEST(Report, AnUnloadedPacketTakesTheUnloadedLatency) {
  const netsim::Machine m = netsim::paper_machine({8, 8});
  const auto topology = netsim::make_topology(m);
  const std::vector<netsim::Planned> plan{{0, 0, {3, m.payload_bytes(), 0, 0, 0, 0}}};
  netsim::Scripted driver(plan, m.nodes());
  Result<netsim::Results> r = netsim::simulate(m, *topology, driver, {});
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r.value().latency.at(3).most(), unloaded_latency(m, 3));
}

TEST(Report, TablesAgreeWithTheResult) {
  const Example& e = torus();
  const std::string folder = testing::TempDir() + "/report_test." + std::to_string(getpid()) + "/new";
  ASSERT_TRUE(write_report(e.report(true), folder).ok());
  const auto links = table(folder + "/links.csv");
  ASSERT_EQ(links.size(), 101u);
  EXPECT_EQ(links[0][0], "class");
  EXPECT_DOUBLE_EQ(sum(links, 3), static_cast<double>(e.outcome.results.packet_hops));
  const auto throughput = table(folder + "/throughput.csv");
  EXPECT_EQ(throughput.size(), bins_of(e.outcome.results) + 1u);
  for (const auto& row : throughput) EXPECT_EQ(row.size(), 2u + 5 + 8);
  EXPECT_DOUBLE_EQ(sum(table(folder + "/latency.csv"), 1), static_cast<double>(e.outcome.results.packets));
  const auto calls = table(folder + "/calls.csv"), messages = table(folder + "/messages.csv");
  EXPECT_EQ(calls.size(), 1 + 25u * 12 * 4 + 1);
  EXPECT_EQ(messages.size(), 1 + 25u * 12 + 1);
  EXPECT_DOUBLE_EQ(sum(table(folder + "/ranks.csv"), 2), 25.0 * 12 * 4 + 1);
  EXPECT_EQ(calls[2][1], "MPI_Recv");
  EXPECT_EQ(calls[2][4], "any");
  for (const char* file : {"report.html", "results.json", "trace.perfetto-trace"})
    EXPECT_GT(std::filesystem::file_size(folder + "/" + file), 1000u) << file;
  std::filesystem::remove_all(std::filesystem::path(folder).parent_path());
}

TEST(Report, ADirectoryThatCannotBeIsAnError) {
  const std::string file = testing::TempDir() + "/report_test_file." + std::to_string(getpid());
  std::ofstream(file) << "in the way";
  const Status s = write_report(torus().report(false), file + "/report");
  EXPECT_FALSE(s.ok());
  EXPECT_NE(s.message().find(file), std::string::npos) << s.message();
  std::filesystem::remove(file);
}

TEST(Report, SummaryNamesTheFiguresOfARun) {
  const std::string text = summary(torus().report(true));
  for (const char* part : {"packet model, 25 nodes", "% of the ideal", "links busy", "+X", "hops",
                           "imbalance", "million packet hops/s", "ranks"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

// Text of users must not end the page's script.
TEST(Report, ThePageQuotesItsData) {
  const std::string html = page(torus().report(false));
  EXPECT_EQ(html.find("</script> on"), std::string::npos);
  EXPECT_EQ(html.find("{{data}}"), std::string::npos);
  const size_t begin = html.find("application/json\" id=\"data\">") + 28, end = html.find("</script>", begin);
  const json j = json::parse(html.substr(begin, end - begin));
  EXPECT_EQ(j.at("title"), "All-to-all, <b>\"quoted\"</b> & </script>");
}

// A result without anything, the coarse model, and a machine of one node have reports too.
TEST(Report, LittleIsEnough) {
  const netsim::Machine m = netsim::paper_machine({3, 3});
  const auto topology = netsim::make_topology(m);
  netsim::Results empty;
  empty.links.resize(topology->links().size());
  empty.classes = topology->classes();
  empty.class_links.resize(empty.classes.size());
  SimulationReport r;
  r.machine = &m;
  r.topology = topology.get();
  r.results = &empty;
  EXPECT_FALSE(summary(r).empty());
  EXPECT_EQ(json::parse(to_json(r)).at("time_s"), 0);
  EXPECT_FALSE(page(r).empty());
  const ProgramLog nothing;
  r.log = &nothing;
  EXPECT_EQ(json::parse(to_json(r)).at("ranks").size(), 0u);
  EXPECT_EQ(json::parse(page_data(r)).contains("timeline"), false);
}

// Rows, moments and records are limited, so that the page is; nothing is left out of the averages.
TEST(Report, ThePageOfALargeMachineIsBounded) {
  const Example e = make_example(netsim::paper_machine({40, 40}), "halo", 65536, 0);
  ASSERT_EQ(e.error, "");
  SimulationReport report = e.report(true);
  const ProgramLog log = exchange_log(1600, e.outcome.results.end, 40);
  report.log = &log;
  const std::string data = page_data(report);
  EXPECT_LT(data.size(), 5u << 20);
  const json j = json::parse(data);
  EXPECT_EQ(j.at("heat").at("together"), 7);
  EXPECT_LE(j.at("heat").at("rows"), 1024 + 4);
  EXPECT_LE(j.at("picture").at("moments").get<size_t>() * 6400, size_t{1} << 20);
  EXPECT_EQ(j.at("timeline").at("all_calls"), 1600 * 40 * 4 + 1);
  EXPECT_LE(j.at("timeline").at("call").at("rank").get<std::string>().size(), 50000u * 4 * 4 / 3 + 4);
}

}  // namespace
}  // namespace tasuki::simmpi
