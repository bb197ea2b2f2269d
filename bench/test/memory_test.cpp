// `tasuki bench memory` without running anything: what is planned, and what is made of results.
#include "bench/driver/benchmarks/memory_paper.h"

#include <gtest/gtest.h>

#include <set>

#include "bench/driver/benchmarks/sweep.h"
#include "bench/driver/reports/report.h"
#include "bench/plot/memory_page.h"
#include "bench/plot/page.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) n++;
  return n;
}

// The names by which `compare` finds rows again.
void expect_names_are_unique(const std::vector<MemoryGroup>& groups) {
  std::set<std::string> names;
  for (const MemoryGroup& g : groups) {
    EXPECT_TRUE(names.insert(point_name(g.kernel, "", MemoryPoint(), "")).second) << g.kernel.name;
    for (const MemoryPoint& p : g.points)
      EXPECT_TRUE(names.insert(point_name(g.kernel, "", p, std::to_string(p.mpi))).second)
          << point_name(g.kernel, "", p, std::to_string(p.mpi));
  }
}

TEST(MemoryPlan, NamesAreUnique) {
  for (const bool full : {false, true})
    for (const size_t mpis : {1, 2}) {
      MemoryChoice choice;
      choice.full = full;
      const Result<std::vector<MemoryGroup>> groups = plan(choice, mpis);
      ASSERT_TRUE(groups.ok());
      ASSERT_FALSE(groups.value().empty());
      expect_names_are_unique(groups.value());
    }
}

TEST(MemoryPlan, FullHasAllOfThePaper) {
  MemoryChoice choice;
  choice.full = true;
  const std::vector<MemoryGroup> groups = plan(choice, 2).value();
  std::set<std::string> kernels, protocols, where, kinds;
  std::set<uint64_t> pages;
  std::set<int> servers, threads;
  std::set<double> ratios;
  std::set<size_t> mpis;
  for (const MemoryGroup& g : groups) {
    kernels.insert(g.kernel.name);
    threads.insert(g.kernel.threads);
    for (const MemoryPoint& p : g.points) {
      protocols.insert(p.protocol), where.insert(p.where), kinds.insert(p.kind), pages.insert(p.page);
      servers.insert(p.servers), ratios.insert(p.ratio), mpis.insert(p.mpi);
    }
  }
  EXPECT_EQ(kernels.size(), std::size(kMemoryKernels));
  EXPECT_EQ(kinds.size(), 1 + std::size(kMemoryPeers));
  EXPECT_EQ(protocols, (std::set<std::string>{"", "ahead", "as1", "as2", "cross", "cs"}));
  EXPECT_EQ(where, (std::set<std::string>{"hosts", "node"}));
  EXPECT_EQ(pages, (std::set<uint64_t>{0, 4096, 16384, 65536, 262144, 1048576, 2097152}));
  EXPECT_EQ(servers, (std::set<int>{1, 2, 4}));
  EXPECT_EQ(threads, (std::set<int>{1, 4}));
  EXPECT_EQ(ratios, (std::set<double>{2, 5, 10, 25, 50, 75, 100}));
  EXPECT_EQ(mpis.size(), 2U);
}

TEST(MemoryPlan, ThePaperGoesWithKernelsOnly) {
  MemoryChoice choice;
  choice.paper = true;
  expect_names_are_unique(plan(choice, 1).value());
  choice.kernels = {"himeno:L"};
  const std::vector<MemoryGroup> some = plan(choice, 1).value();
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some[0].kernel.size, "L");
  choice.ratios = {5};
  EXPECT_FALSE(plan(choice, 1).ok());
}

TEST(MemoryPlan, Combinations) {
  MemoryChoice choice;
  choice.kernels = {"himeno:L", "stream:24MiB:copy+triad"};
  choice.ratios = {100, 5};
  choice.protocols = {"cs", "ahead"};
  choice.servers = {1, 3};
  choice.peers = {"umap"};
  choice.repetitions = 7;
  const std::vector<MemoryGroup> groups = plan(choice, 1).value();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].kernel, (MemoryKernel{"himeno", "L", "", 1, 1, 7}));
  EXPECT_EQ(groups[1].kernel, (MemoryKernel{"stream", "24MiB", "copy,triad", 1, 1, 7}));
  ASSERT_EQ(groups[0].points.size(), 2U * 2 * 2 + 1);  // the peer at 5 % only
  EXPECT_EQ(groups[0].points.back().kind, "umap");
  EXPECT_EQ(groups[0].points.back().ratio, 5);
  expect_names_are_unique(groups);
  choice.no_peers = true;
  EXPECT_EQ(plan(choice, 1).value()[0].points.size(), 8U);
  choice.kernels = {"himenno"};
  EXPECT_NE(plan(choice, 1).status().message().find("himeno"), std::string::npos);
}

TEST(MemoryPlan, FullOfOneKernel) {
  MemoryChoice choice;
  choice.full = true;
  choice.kernels = {"mg"};
  const std::vector<MemoryGroup> groups = plan(choice, 1).value();
  ASSERT_FALSE(groups.empty());
  for (const MemoryGroup& g : groups) EXPECT_EQ(g.kernel.name, "mg");
}

json cluster_row(const std::string& name, double ratio, double seconds) {
  const json counters = {{"swaps_in", 10.0},      {"swaps_out", 4.0}, {"bytes_in", 655360.0},
                         {"bytes_out", 262144.0}, {"wait_page", 0.2}, {"wait_previous", 0.1}};
  return {{"pattern", name},
          {"bytes", 1 << 20},
          {"kernel", "himeno"},
          {"size", "XS"},
          {"part", ""},
          {"kind", "cluster"},
          {"ratio", ratio},
          {"threads", 1},
          {"label", ""},
          {"verified", true},
          {"finished", true},
          {"local_bytes", 52428},
          {"page", "auto"},
          {"protocol", "ahead"},
          {"servers", 1},
          {"where", "node"},
          {"mpi", "openmpi"},
          {"settings", ""},
          {"seconds", seconds},
          {"mean_seconds", seconds},
          {"relative", seconds / 0.5},
          {"gbps", 1.25},
          {"mops", 34.0},
          {"counters", counters},
          {"components",
           {{"compute", 0.7},
            {"wait_previous", 0.1},
            {"wait_page", 0.2},
            {"in", 0.1},
            {"out", 0.05},
            {"map", 0.02}}},
          {"share", 0.875}};
}

json document() {
  json plain = {{"pattern", "himeno XS, plain"},
                {"bytes", 1 << 20},
                {"kernel", "himeno"},
                {"size", "XS"},
                {"part", ""},
                {"kind", "plain"},
                {"ratio", nullptr},
                {"threads", 1},
                {"label", ""},
                {"verified", true},
                {"finished", true},
                {"seconds", 0.5},
                {"mean_seconds", 0.5},
                {"relative", 1.0},
                {"gbps", 2.5},
                {"mops", 68.0}};
  json swap = plain;
  swap["pattern"] = "himeno XS, swap-zram 5 %";
  swap["kind"] = "swap-zram", swap["ratio"] = 5.0, swap["seconds"] = 4.0, swap["relative"] = 8.0;
  swap["faults"] = {{"minor", 1}, {"major", 77}};
  return {{"benchmark", "memory"},
          {"format", 1},
          {"date", "2026-01-01T00:00:00Z"},
          {"mpi", "openmpi"},
          {"machine", {{"cpu", "A <CPU>"}, {"cores", 2}}},
          {"versions", {{"tasuki", "1"}, {"mpi", "Open MPI v1"}}},
          {"settings", {{"rounds", 1}}},
          {"transport",
           {{{"mpi", "openmpi"},
             {"where", "node"},
             {"sizes",
              {{{"page", 65536},
                {"fetch", 4e9},
                {"fetch4", 5e9},
                {"swap", 3e9},
                {"window", nullptr},
                {"copy", 9e9}}}}}}},
          {"peers", {{"swap-zram", "measured"}}},
          {"rows",
           {plain, cluster_row("himeno XS, cluster 50 %", 50, 0.75),
            cluster_row("himeno XS, cluster 5 %", 5, 1.0), swap}},
          {"contiguous", json::array()},
          {"geomean", nullptr},
          {"verified", true},
          {"notes", json::array()}};
}

TEST(MemoryReport, TableHasTheNumbers) {
  const std::string text = table(document());
  EXPECT_NE(text.find("himeno XS: 1.0 MiB, 68.00 MFLOPS with plain malloc"), std::string::npos) << text;
  EXPECT_NE(text.find("times as fast as: swap-zram 4.00"), std::string::npos) << text;
  EXPECT_NE(text.find("0.875"), std::string::npos) << text;
  EXPECT_NE(text.find("30 %"), std::string::npos) << "waiting: 0.3 of 1 second";
  EXPECT_EQ(text.find("FAILED"), std::string::npos);
}

TEST(MemoryReport, SaysWhatIsWrong) {
  json m = document();
  m["rows"][2]["verified"] = false;
  m["rows"][2]["failure"] = "p[1][2][3] is 4";
  m["rows"][3]["finished"] = m["rows"][3]["verified"] = false;
  m["rows"][3]["failure"] = "not finished in 60 seconds";
  m["rows"][3].erase("seconds");
  const std::string text = table(m);
  EXPECT_NE(text.find("VERIFICATION FAILED: himeno XS, cluster 5 %: p[1][2][3] is 4"), std::string::npos)
      << text;
  EXPECT_NE(text.find("NOT FINISHED: himeno XS, swap-zram 5 %: not finished in 60 seconds"),
            std::string::npos)
      << text;
  EXPECT_EQ(memory_page({m}).find("NOT all results are right"), std::string::npos);
  m["verified"] = false;
  EXPECT_NE(memory_page({m}).find("NOT all results are right"), std::string::npos);
}

TEST(MemoryReport, ComparesRowByRow) {
  json newer = document();
  newer["rows"][2]["seconds"] = 0.5, newer["rows"][2]["relative"] = 1.0;
  newer["rows"].erase(3);
  const std::string text = comparison(document(), newer);
  EXPECT_NE(text.find("only in old: himeno XS, swap-zram 5 %"), std::string::npos) << text;
  EXPECT_EQ(count(text, " 2.00"), 2U) << text;  // that row, both ways
  EXPECT_EQ(count(text, " 1.41"), 2U) << text;  // the mean of 1 and 2
  EXPECT_EQ(comparison(document(), document()).find("only in"), std::string::npos);
}

TEST(MemoryReport, CommaSeparated) {
  const std::string text = csv(document());
  EXPECT_EQ(count(text, "\n"), 5U);
  EXPECT_NE(text.find("counters.swaps_in"), std::string::npos);
}

TEST(MemoryPage, HasTheFigures) {
  std::vector<std::string> titles;
  for (const report::Chart& c : memory_charts(document())) titles.push_back(c.title);
  EXPECT_EQ(titles,
            (std::vector<std::string>{"Relative time by local memory", "Beside what else there is: himeno XS",
                                      "Where the program's time goes: himeno XS",
                                      "What the pager does in that time: himeno XS",
                                      "Moving pages without a pager: openmpi, node"}));
}

TEST(MemoryPage, DimensionsThatVary) {
  json m = document();
  json other = cluster_row("himeno XS, cluster 5 %, cs", 5, 2.0);
  other["protocol"] = "cs";
  m["rows"].push_back(other);
  const std::vector<report::Chart> charts = memory_charts(m);
  const auto found = std::find_if(charts.begin(), charts.end(), [](const report::Chart& c) {
    return c.title == "By protocol: himeno XS, page auto, node, openmpi";
  });
  ASSERT_NE(found, charts.end());
  EXPECT_TRUE(found->bars) << "one ratio has both";
  EXPECT_TRUE(found->ratio);
  EXPECT_EQ(found->groups, (std::vector<std::string>{"ahead", "cs"}));
  ASSERT_EQ(found->series.size(), 1U);
  EXPECT_EQ(found->series[0].points, (std::vector<std::pair<double, double>>{{0, 2.0}, {1, 4.0}}));
}

TEST(MemoryPage, IsOneFile) {
  const std::string html = page({document()}), space = "http://www.w3.org/2000/svg";  // a name, no address
  EXPECT_EQ(count(html, "http://"), count(html, space));
  EXPECT_EQ(html.find("https://"), std::string::npos);
  EXPECT_NE(html.find("A &lt;CPU&gt;"), std::string::npos);
  EXPECT_EQ(count(html, "\"stacked\": "), 5U) << "charts";
}

TEST(MemoryPage, SaysThatTheMachineWasBusy) {
  json m = document();
  m["notes"] = {"the machine was busy: trust the mean of the best rounds"};
  for (json& r : m["rows"]) r["best_seconds"] = r["seconds"].get<double>() / 2;
  const std::string html = page({m});
  EXPECT_LT(html.find("the machine was busy"), html.find("<main"));
  EXPECT_NE(html.find("the same of the best rounds"), std::string::npos);
}

// A measurement of all that is planned, where each number can be told from the others.
json measurement_of_the_paper() {
  json m = {{"mpi", "openmpi"}, {"rows", json::array()}};
  double n = 1;
  const auto add = [&](const MemoryKernel& kernel, const std::string& part, const MemoryPoint& point) {
    m["rows"].push_back(
        {{"pattern", point_name(kernel, part, point, point.kind == "plain" ? "" : "openmpi")},
         {"bytes", 1 << 20},
         {"seconds", n},
         {"job_seconds", 2 * n},
         {"relative", 3 * n},
         {"gbps", 4 * n},
         {"counters", {{"bytes_in", 5 * n}, {"swaps_in", 2}, {"wait_page", n}, {"wait_previous", n / 2}}}});
    n++;
  };
  for (const MemoryGroup& g : paper_groups())
    for (const char* part : {"", "copy", "scale", "add", "triad"}) {
      if ((g.kernel.name == "stream") == (*part == '\0')) continue;
      add(g.kernel, part, MemoryPoint());
      for (const MemoryPoint& p : g.points) add(g.kernel, part, p);
    }
  m["transport"] = {{{"mpi", "openmpi"},
                     {"where", "hosts"},
                     {"sizes", {{{"page", 1 << 20}, {"fetch", 6e8}, {"again", 1e9}}}}}};
  return m;
}

TEST(MemoryPaper, NoRowIsEmpty) {
  const json m = measurement_of_the_paper();
  const json rows = paper_rows(m);
  ASSERT_GT(rows.size(), 60U);
  std::set<std::string> figures;
  for (const json& row : rows) {
    EXPECT_TRUE(row["as_paper"].is_number()) << row.dump();
    EXPECT_TRUE(row["paper"][0].is_number() || row["paper"][1].is_number()) << row.dump();
    figures.insert(row["where"]);
  }
  for (const char* figure :
       {"table 3, fig. 10", "fig. 11", "fig. 12", "fig. 13", "fig. 19", "table 6", "fig. 20", "fig. 21",
        "fig. 22", "fig. 23", "fig. 24", "fig. 25", "fig. 26", "fig. 27"})
    EXPECT_EQ(figures.count(figure), 1U) << figure;
  const std::string table = paper_table(m);
  EXPECT_EQ(table.find("not measured"), std::string::npos) << table;
  EXPECT_NE(table.find("| 600 |"), std::string::npos) << "the transport's: " << table;
}

TEST(MemoryPaper, WhatWasNotMeasuredIsSaid) {
  json m = measurement_of_the_paper();
  for (json& row : m["rows"])
    if (row["pattern"].get<std::string>().find("cluster 15 %") != std::string::npos)
      row.erase("seconds"), row.erase("relative"), row.erase("counters");
  EXPECT_NE(paper_table(m).find("not measured"), std::string::npos);
  m["rows"].erase(0);
  EXPECT_FALSE(paper_rows(m).empty());
}

}  // namespace
}  // namespace tasuki::bench
