// Machine files: those that come with Tasuki, and what happens to wrong ones.
#include "netsim/machine/machine.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "netsim/simulate.h"
#include "netsim/test/scripted.h"

namespace tasuki::netsim {
namespace {

constexpr const char* kGood = R"(name = "good"
[topology]
kind = "torus"
extents = [4, 6]
[routing]
algorithm = "deterministic"
[link]
bandwidth = "4 GB/s"
cable_delay = "10 ns"
[router]
routing_computation = "4 ns"
channel_allocation = "4 ns"
switch_allocation = "4 ns"
switch_traversal = "4 ns"
switch_delay = "78 ns"
channels = 2
buffer = "8 KiB"
[packet]
mtu = "2 KiB"
header = "32 B"
flit = "16 B"
[nic]
count = 4
dma = "16 GB/s"
[memory]
bandwidth = "16 GB/s"
[software]
call_overhead = "200 ns"
)";

std::string with(std::string text, const std::string& old, const std::string& now) {
  const size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), now);
}

std::string error_of(const std::string& text) {
  const Result<Machine> m = parse_machine(text, "m.toml");
  return m.ok() ? "" : m.status().message();
}

void expect_error(const std::string& text, const std::string& line, const std::string& key,
                  const std::string& what) {
  const std::string error = error_of(text);
  EXPECT_EQ(error.find("m.toml:" + line + ": "), 0u) << error;
  EXPECT_NE(error.find("'" + key + "'"), std::string::npos) << error;
  EXPECT_NE(error.find(what), std::string::npos) << error;
}

TEST(MachineFile, AGoodOneIsRead) {
  const Result<Machine> r = parse_machine(kGood, "m.toml");
  ASSERT_TRUE(r.ok()) << r.status().message();
  const Machine& m = r.value();
  EXPECT_EQ(m.name, "good");
  EXPECT_EQ(m.extents, (std::vector<uint32_t>{4, 6}));
  EXPECT_EQ(m.nodes(), 24u);
  EXPECT_EQ(m.link_bandwidth, 4e9);
  EXPECT_EQ(m.switch_delay, 78000u);
  EXPECT_EQ(m.buffer_bytes, 8192u);
  EXPECT_EQ(m.packets_of(2017), 2u);
  EXPECT_EQ(m.wire_bytes_of(2017), 2048u + 48u);
}

TEST(MachineFile, EveryKeyThatIsMissingIsNamedWithItsTable) {
  struct Case {
    const char *line, *table_line, *key;
  };
  for (const Case& c : {Case{"kind = \"torus\"\n", "2", "topology.kind"},
                        {"extents = [4, 6]\n", "2", "topology.extents"},
                        {"bandwidth = \"4 GB/s\"\n", "7", "link.bandwidth"},
                        {"cable_delay = \"10 ns\"\n", "7", "link.cable_delay"},
                        {"routing_computation = \"4 ns\"\n", "10", "router.routing_computation"},
                        {"channel_allocation = \"4 ns\"\n", "10", "router.channel_allocation"},
                        {"switch_allocation = \"4 ns\"\n", "10", "router.switch_allocation"},
                        {"switch_traversal = \"4 ns\"\n", "10", "router.switch_traversal"},
                        {"switch_delay = \"78 ns\"\n", "10", "router.switch_delay"},
                        {"channels = 2\n", "10", "router.channels"},
                        {"buffer = \"8 KiB\"\n", "10", "router.buffer"},
                        {"mtu = \"2 KiB\"\n", "18", "packet.mtu"},
                        {"header = \"32 B\"\n", "18", "packet.header"},
                        {"flit = \"16 B\"\n", "18", "packet.flit"},
                        {"count = 4\n", "22", "nic.count"},
                        {"dma = \"16 GB/s\"\n", "22", "nic.dma"},
                        {"bandwidth = \"16 GB/s\"\n", "25", "memory.bandwidth"},
                        {"call_overhead = \"200 ns\"\n", "27", "software.call_overhead"}})
    expect_error(with(kGood, c.line, ""), c.table_line, c.key, "is missing; it must be");
  // No table, so no line to name.
  EXPECT_EQ(error_of(with(kGood, "name = \"good\"\n", "")), "m.toml: 'name' is missing; it must be a string");
  EXPECT_NE(error_of("").find("m.toml: 'name' is missing"), std::string::npos);
  EXPECT_NE(error_of(with(kGood, "[nic]\ncount = 4\ndma = \"16 GB/s\"\n", "")).find("'nic.count' is missing"),
            std::string::npos);
}

TEST(MachineFile, AWrongValueIsNamedWithItsLine) {
  struct Case {
    const char *old, *now, *line, *key, *what;
  };
  for (const Case& c : {
           Case{"\"4 GB/s\"", "4", "8", "link.bandwidth", "with its unit"},
           {"\"4 GB/s\"", "\"4\"", "8", "link.bandwidth", "with its unit"},
           {"\"4 GB/s\"", "\"4 ns\"", "8", "link.bandwidth", "with its unit"},
           {"\"4 GB/s\"", "\"0 GB/s\"", "8", "link.bandwidth", "with its unit"},
           {"\"4 GB/s\"", "\"-4 GB/s\"", "8", "link.bandwidth", "with its unit"},
           {"\"4 GB/s\"", "\"inf GB/s\"", "8", "link.bandwidth", "with its unit"},
           {"\"4 GB/s\"", "\"nan GB/s\"", "8", "link.bandwidth", "with its unit"},
           {"\"4 GB/s\"", "\"1e300 TB/s\"", "8", "link.bandwidth", "1 PB/s"},
           {"\"4 GB/s\"", "\"1 B/s\"", "8", "link.bandwidth", "1 KB/s"},
           {"\"10 ns\"", "\"10 GB/s\"", "9", "link.cable_delay", "a time with its unit"},
           {"\"10 ns\"", "\"-10 ns\"", "9", "link.cable_delay", "a time with its unit"},
           {"\"10 ns\"", "\"2 s\"", "9", "link.cable_delay", "a second"},
           {"\"10 ns\"", "\"1e30 s\"", "9", "link.cable_delay", "a time with its unit"},
           {"\"78 ns\"", "\"78\"", "15", "router.switch_delay", "a time with its unit"},
           {"\"78 ns\"", "\"3600 s\"", "15", "router.switch_delay", "a second"},
           {"channels = 2", "channels = 0", "16", "router.channels", "1 to 8"},
           {"channels = 2", "channels = 9", "16", "router.channels", "1 to 8"},
           {"channels = 2", "channels = 1", "16", "router.channels", "needs 2 virtual channels"},
           {"channels = 2", "channels = -2", "16", "router.channels", "a whole number"},
           {"channels = 2", "channels = 2.5", "16", "router.channels", "a whole number"},
           {"channels = 2", "channels = 99999999999", "16", "router.channels", "a whole number"},
           {"deterministic", "valiant", "16", "router.channels", "needs 4 virtual channels"},
           {"deterministic", "adaptive", "16", "router.channels", "needs 3 virtual channels"},
           {"deterministic", "fastest", "6", "routing.algorithm", "one of"},
           {"\"8 KiB\"", "\"1 KiB\"", "17", "router.buffer", "whole packet"},
           {"\"8 KiB\"", "\"2047 B\"", "17", "router.buffer", "whole packet"},
           {"\"8 KiB\"", "\"0 B\"", "17", "router.buffer", "whole packet"},
           {"\"8 KiB\"", "\"2 GiB\"", "17", "router.buffer", "1 GiB"},
           {"\"8 KiB\"", "\"8 kb\"", "17", "router.buffer", "a size with its unit"},
           {"\"8 KiB\"", "\"8.00001 KiB\"", "17", "router.buffer", "a size with its unit"},
           {"\"2 KiB\"", "\"64 KiB\"", "19", "packet.mtu", "below 64 KiB"},
           {"\"2 KiB\"", "\"8 GiB\"", "19", "packet.mtu", "a size"},
           {"\"2 KiB\"", "\"32 B\"", "20", "packet.header", "shorter than the MTU"},
           {"\"32 B\"", "\"0 B\"", "20", "packet.header", "at least 1 B"},
           {"\"16 B\"", "\"0 B\"", "21", "packet.flit", "1 B"},
           {"\"16 B\"", "\"64 KiB\"", "21", "packet.flit", "16 KiB"},
           {"count = 4", "count = 0", "23", "nic.count", "1 to 64"},
           {"count = 4", "count = 65", "23", "nic.count", "1 to 64"},
           {"count = 4", "count = \"four\"", "23", "nic.count", "a whole number"},
           {"dma = \"16 GB/s\"", "dma = \"0.1 KB/s\"", "24", "nic.dma", "1 KB/s"},
           {"bandwidth = \"16 GB/s\"", "bandwidth = \"16 PB/s\"", "26", "memory.bandwidth", "with its unit"},
           {"\"200 ns\"", "\"200 s\"", "28", "software.call_overhead", "a second"},
           {"\"200 ns\"", "\"200 ns\"\ncompute_scale = -1", "29", "software.compute_scale", "0 to 1e6"},
           {"\"200 ns\"", "\"200 ns\"\ncompute_scale = nan", "29", "software.compute_scale", "0 to 1e6"},
           {"\"200 ns\"", "\"200 ns\"\neager = true", "29", "software.eager", "a size"},
           {"name = \"good\"", "name = 7", "1", "name", "a string"},
           {"\"torus\"", "\"hypercube\"", "3", "topology.kind", "one of"},
           {"\"torus\"", "3", "3", "topology.kind", "one of"},
           {"[4, 6]", "[]", "4", "topology.extents", "a list of whole numbers"},
           {"[4, 6]", "4", "4", "topology.extents", "a list of whole numbers"},
           {"[4, 6]", "[4, 0]", "4", "topology.extents", "1 to 32767"},
           {"[4, 6]", "[4, -1]", "4", "topology.extents", "a whole number"},
           {"[4, 6]", "[4, 40000]", "4", "topology.extents", "1 to 32767"},
           {"[4, 6]", "[32767, 32767]", "2", "topology", "nodes"},
           {"[4, 6]", "[1, 1, 1, 1, 1, 1, 1]", "4", "topology.extents", "1 to 6"},
           {"[4, 6]", "[4, 6]\nwraps = [true]", "5", "topology.wraps", "each of the 2"},
           {"[4, 6]", "[4, 6]\nwraps = [true, 1]", "5", "topology.wraps", "true and false"},
           {"[4, 6]", "[4, 6]\nrouter_nodes = 0", "5", "topology.router_nodes", "1 to 64"},
           {"[4, 6]", "[4, 6]\nrouter_nodes = 65", "5", "topology.router_nodes", "1 to 64"},
           // What another kind of machine has, a misspelling, a path in quotes, a table that nobody reads.
           {"[4, 6]", "[4, 6]\narity = 4", "5", "topology.arity", "is not a key"},
           {"dma = ", "dna = \"1 GB/s\"\ndma = ", "24", "nic.dna", "is not a key"},
           {"name = ", "\"software.eager\" = \"1 KiB\"\nname = ", "1", "software.eager", "is not a key"},
           {"call_overhead", "[power]\nwatts = 3\n[software]\ncall_overhead", "28", "power", "is not a key"},
       }) {
    // The last case needs its own text: [software] would be there twice.
    std::string text = kGood;
    if (std::string(c.key) == "power") text = with(text, "[software]\n", "");
    const std::string line = std::string(c.key) == "power" ? "27" : c.line;
    expect_error(with(text, c.old, c.now), line, c.key, c.what);
  }
}

TEST(MachineFile, OtherTopologiesAreCheckedToo) {
  const std::string tree =
      with(kGood, "kind = \"torus\"\nextents = [4, 6]", "kind = \"fat-tree\"\narity = 4\nlevels = 3");
  EXPECT_EQ(error_of(tree), "");
  expect_error(with(tree, "arity = 4", "arity = 1"), "4", "topology.arity", "2 to 64");
  expect_error(with(tree, "arity = 4", "arity = 65"), "4", "topology.arity", "2 to 64");
  expect_error(with(tree, "levels = 3", "levels = 0"), "5", "topology.levels", "1 to 8");
  expect_error(with(tree, "arity = 4\nlevels = 3", "arity = 64\nlevels = 8"), "2", "topology", "nodes");
  expect_error(with(tree, "levels = 3", "levels = 3\nextents = [4]"), "6", "topology.extents",
               "is not a key");
  const std::string fly = with(kGood, "kind = \"torus\"\nextents = [4, 6]",
                               "kind = \"dragonfly\"\ngroup_routers = 4\nglobal_links = 2");
  EXPECT_EQ(error_of(fly), "");
  expect_error(with(fly, "group_routers = 4", "group_routers = 0"), "4", "topology.group_routers",
               "1 to 256");
  expect_error(with(fly, "global_links = 2", "global_links = 65"), "5", "topology.global_links", "1 to 64");
  expect_error(with(fly, "deterministic", "valiant"), "17", "router.channels", "needs 3 virtual channels");
}

TEST(MachineFile, WrongTomlIsNamedWithItsLine) {
  for (const char* now : {"channels = = 2", "channels 2", "channels = \"2", "channels = [2", "[router]"}) {
    const std::string error = error_of(with(kGood, "channels = 2", now));
    EXPECT_EQ(error.find("m.toml:1"), 0u) << error;  // 16, or 17 for what is not closed
    EXPECT_NE(error.find("not valid TOML"), std::string::npos) << error;
  }
  EXPECT_NE(error_of(std::string("name = \"\xff\xfe\"\n")).find("not valid TOML"), std::string::npos);
  EXPECT_NE(error_of("name = " + std::string(5000, '[')).find("not valid TOML"), std::string::npos);
}

TEST(MachineFile, AFileThatCannotBeReadIsSaidSo) {
  for (const char* path : {"/nonexistent/m.toml", "/"}) {
    const Result<Machine> m = load_machine(path);
    ASSERT_FALSE(m.ok());
    EXPECT_NE(m.status().message().find("cannot read"), std::string::npos) << m.status().message();
  }
  const Result<Machine> endless = load_machine("/dev/zero");
  ASSERT_FALSE(endless.ok());
  EXPECT_NE(endless.status().message().find("too long"), std::string::npos);
}

TEST(MachineFile, SettingsAreCheckedAsTheFileIs) {
  const auto error = [](const std::string& setting) {
    const Result<Machine> m = parse_machine(kGood, "m.toml", {setting});
    return m.ok() ? "" : m.status().message();
  };
  EXPECT_EQ(error("router.channels=4"), "");
  EXPECT_EQ(error("link.bandwidth=5 GB/s"), "");
  EXPECT_EQ(error("router.channels=1").find("m.toml, setting: 'router.channels'"), 0u)
      << error("router.channels=1");
  EXPECT_EQ(error("link.bandwidth=5 ns").find("m.toml, setting: 'link.bandwidth'"), 0u);
  EXPECT_EQ(error("link.width=5 ns").find("m.toml, setting: 'link.width' is not a key"), 0u);
  EXPECT_EQ(error("wires.colour=red").find("m.toml, setting: 'wires'"), 0u) << error("wires.colour=red");
  for (const char* odd :
       {"", "=", "a", "=3", ".=3", "a.=3", ".a=3", "a.b.c=3", "name.x=3", "router=3", "router.channels="})
    EXPECT_NE(error(odd), "") << odd;
}

// Values by code, where no file stands in between.
TEST(Machine, NumbersThatAreNoneAreRefused) {
  Machine m = paper_machine({4, 4});
  EXPECT_TRUE(check_machine(m).ok());
  m.link_bandwidth = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(check_machine(m).ok());
  m = paper_machine({4, 4});
  m.dma_bandwidth = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(check_machine(m).ok());
  m = paper_machine({4, 4});
  m.flit_bytes = UINT32_MAX;
  EXPECT_FALSE(check_machine(m).ok());
  m = paper_machine({4, 4});
  m.packet_bytes = UINT32_MAX;
  EXPECT_FALSE(check_machine(m).ok());
  EXPECT_FALSE(check_machine(Machine()).ok());
}

// One random change: of a byte, a line, a number, a word.
std::string mutated(std::string text, uint64_t* seed) {
  const auto pick = [seed](size_t n) { return static_cast<size_t>(pseudo_random(seed) % n); };
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; begin = end + 1, end = text.find('\n', begin))
    lines.push_back(text.substr(begin, end - begin + 1));
  if (lines.empty()) lines.push_back("\n");
  static const char* const kValues[] = {"0",          "-1",           "1e308",         "9223372036854775807",
                                        "nan",        "\"0 B\"",      "\"1 ps\"",      "\"1 B\"",
                                        "\"1 PB/s\"", "\"1 KB/s\"",   "\"1 s\"",       "[]",
                                        "{}",         "[[]]",         "true",          "\"\"",
                                        "\"64 KiB\"", "65535",        "[1]",           "[32767, 512]",
                                        "\"mesh\"",   "\"fat-tree\"", "\"dragonfly\"", "\"adaptive\"",
                                        "2"};
  std::string& line = lines[pick(lines.size())];
  const size_t equals = line.find('=');
  switch (pick(6)) {
    case 0:
      if (!line.empty()) line[pick(line.size())] = static_cast<char>(pick(256));
      break;
    case 1:
      line.clear();
      break;
    case 2:
      line += lines[pick(lines.size())];
      break;
    case 3:
      for (char& c : line)
        if (c >= '0' && c <= '9' && pick(2) == 0) c = static_cast<char>('0' + pick(10));
      break;
    case 4:
      if (equals != std::string::npos)
        line = line.substr(0, equals + 1) + " " + kValues[pick(std::size(kValues))] + "\n";
      break;
    default:
      std::swap(line, lines[pick(lines.size())]);
      break;
  }
  std::string all;
  for (const std::string& l : lines) all += l;
  return all;
}

TEST(MachineFile, AnythingGivesAnErrorOrAMachineThatWorks) {
  std::vector<std::string> good{kGood};
  for (const auto& file : std::filesystem::directory_iterator(MACHINES)) {
    std::ifstream in(file.path());
    good.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  uint64_t seed = 2024;
  int accepted = 0, refused = 0;
  for (int i = 0; i < 6000; i++) {
    std::string text = good[i % good.size()];
    for (int changes = 1 + i % 4; changes > 0; changes--) text = mutated(text, &seed);
    const Result<Machine> r = parse_machine(text, "m.toml");
    if (!r.ok()) {
      refused++;
      ASSERT_EQ(r.status().message().find("m.toml"), 0u) << r.status().message();
      continue;
    }
    accepted++;
    const Machine& m = r.value();
    ASSERT_TRUE(check_machine(m).ok()) << text;
    if (m.nodes() > 2000) continue;
    // It runs: the closed form holds across the network, whatever the values.
    const auto topology = make_topology(m);
    ASSERT_EQ(topology->nodes(), m.nodes()) << text;
    if (m.nodes() < 2 || m.routing == RoutingAlgorithm::valiant || accepted % 8 != 0) continue;
    const uint32_t to = m.nodes() - 1;
    const std::vector<Planned> plan{{0, 0, {to, 100, 0, 0, 0, 0}}};
    Scripted driver(plan, m.nodes());
    const Result<Results> results = simulate(m, *topology, driver, {});
    ASSERT_TRUE(results.ok()) << text << results.status().message();
    ASSERT_EQ(driver.arrivals[to].size(), 1u);
    ASSERT_EQ(driver.arrivals[to][0].at, zero_load_latency(m, topology->hops(0, to), 100)) << text;
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 500);
}

TEST(MachineFile, AllThatComeWithTasukiWork) {
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(MACHINES)) {
    const Result<Machine> r = load_machine(file.path());
    ASSERT_TRUE(r.ok()) << r.status().message();
    files++;
    const Machine& m = r.value();
    const std::string name = file.path().stem();
    EXPECT_FALSE(m.name.empty()) << name;
    // The paper's machines are named after their extents.
    if (name.rfind("torus2d-", 0) == 0) {
      const std::string n = std::to_string(m.extents.at(0));
      EXPECT_EQ(name, "torus2d-" + n + "x" + n);
      EXPECT_EQ(m.name, "paper, 2-D torus " + n + "x" + n);
      EXPECT_EQ(m.extents, std::vector<uint32_t>(2, m.extents[0]));
    }
    const auto topology = make_topology(m);
    const std::vector<Planned> plan{{0, 0, {m.nodes() - 1, 100000, 0, 0, 0, 0}}};
    Scripted driver(plan, m.nodes());
    const Result<Results> results = simulate(m, *topology, driver, {});
    ASSERT_TRUE(results.ok()) << results.status().message();
    EXPECT_EQ(driver.arrivals[m.nodes() - 1].size(), 1u) << name;
  }
  EXPECT_GE(files, 16u);
}

// What keeps results names the machine by its values: one that is left out would serve results of another
// machine.
TEST(Machine, EveryKeyIsAValue) {
  std::set<std::string> seen{values_of(parse_machine(kGood, "m.toml").value())};
  const char* const settings[] = {"topology.extents=[6, 4]",
                                  "topology.wraps=[true, false]",
                                  "topology.router_nodes=2",
                                  "routing.algorithm=valiant",
                                  "routing.ties=split",
                                  "routing.channels=balanced",
                                  "link.bandwidth=3 GB/s",
                                  "link.cable_delay=11 ns",
                                  "router.routing_computation=5 ns",
                                  "router.channel_allocation=5 ns",
                                  "router.switch_allocation=5 ns",
                                  "router.switch_traversal=5 ns",
                                  "router.switch_delay=5 ns",
                                  "router.channels=7",
                                  "router.buffer=1 MiB",
                                  "packet.flit=8 B",
                                  "packet.mtu=1 KiB",
                                  "packet.header=16 B",
                                  "router.arbitration=oldest-first",
                                  "router.buffer_read=port",
                                  "nic.count=3",
                                  "nic.dma=3 GB/s",
                                  "nic.injection=shared",
                                  "memory.bandwidth=3 GB/s",
                                  "software.call_overhead=5 ns",
                                  "software.eager=5 B",
                                  "software.compute_scale=0.5"};
  for (const char* setting : settings) {
    std::vector<std::string> all{setting};
    if (std::string(setting) == "routing.algorithm=valiant") all.push_back("router.channels=4");
    const Result<Machine> m = parse_machine(kGood, "m.toml", all);
    ASSERT_TRUE(m.ok()) << setting << ": " << m.status().message();
    EXPECT_TRUE(seen.insert(values_of(m.value())).second) << setting << " is not in values_of()";
  }
}

TEST(Machine, WhatHasNoEffectIsNamed) {
  const auto error = [](std::vector<std::string> settings) {
    const Result<Machine> m = parse_machine(kGood, "m.toml", settings);
    return m.ok() ? std::string() : m.status().message();
  };
  EXPECT_NE(error({"topology.kind=mesh", "routing.ties=split"}).find("'routing.ties'"), std::string::npos);
  EXPECT_NE(error({"topology.kind=mesh", "routing.channels=balanced"}).find("'routing.channels'"),
            std::string::npos);
  EXPECT_EQ(error({"topology.wraps=[true, false]", "routing.ties=split"}), "");
}

// As many bytes as a run of it has taken when it was measured, about: too few let the kernel end the process.
TEST(Machine, MemoryGrowsWithAllThatTakesSome) {
  Machine m = paper_machine({64, 64});
  const uint64_t small = memory_of(m, {});
  EXPECT_GT(small, 4096u * 1000);
  m.nics *= 2;
  EXPECT_GT(memory_of(m, {}), small);
  Options links;
  links.link_bins = true;
  EXPECT_GT(memory_of(m, links), memory_of(m, {}) + uint64_t{4096} * 4 * 512 * 8);
  Options flow;
  flow.model = Model::flow;
  EXPECT_GT(memory_of(m, flow), 4096u * 1000);
}

}  // namespace
}  // namespace tasuki::netsim
