// `tasuki bench`: measurements with the peers in the same run.
//   bench ddt       typed messages inside the node, plain MPI against Tasuki
//   bench pack, typed, messages, bcast, rma, collectives   sweeps (sweep.cpp)
//   bench memory    programs with more data than memory (memory.cpp)
//   bench coarray   puts and gets of coarrays, programs with coarrays (coarray.cpp)
//   bench apps      programs whose messages have datatypes (apps.cpp)
//   bench space     what a shared address space costs (space.cpp)
//   bench plot      a page from JSON files
//   bench compare   two JSON files, row by row
#include <cerrno>
#include <cstdio>
#include <memory>

#include "bench/driver/benchmarks/ddt.h"
#include "bench/driver/figures/text.h"
#include "bench/driver/reports/report.h"
#include "os/files/output_file.h"
#include "tools/bench/common.h"

namespace tasuki::tool {
namespace {

// The rows of the applications' patterns, as messages or (`pack`) as packs.
struct DdtCommand {
  bench::DdtOptions options;
  BenchCommon common;
  std::vector<uint64_t> fragments;
};

// Plain Open MPI whose messages go through shared memory in pieces of so many bytes, whatever their size.
bench::Peer in_fragments(const bench::DdtOptions& o, uint64_t bytes) {
  const std::string size = std::to_string(bytes);
  bench::Peer peer{o.mpi, o.program};
  peer.mpi.name += ", fragments of " + bench::readable(bytes);
  for (const char* setting : {"eager_limit", "rndv_eager_limit", "max_send_size"})
    peer.environment.push_back(std::string("OMPI_MCA_btl_vader_") + setting + "=" + size);
  peer.environment.emplace_back("OMPI_MCA_btl_vader_single_copy_mechanism=none");
  return peer;
}

int run_ddt(DdtCommand* c) {
  bench::DdtOptions& o = c->options;
  if (Status s = check_pattern(o.pattern); !s.ok()) return fail(s);
  if (Status s = prepare(c->common, "ddt", &o); !s.ok()) return fail(s);
  if (!c->fragments.empty() && o.mpi.name != "openmpi")
    return fail(Status::error(EINVAL, "--fragments: only Open MPI has such a setting; add --mpi openmpi"));
  for (const uint64_t bytes : c->fragments) o.peers.push_back(in_fragments(o, bytes));
  return measure_and_report(c->common, [&o](const auto& progress) { return bench::run_ddt(o, progress); });
}

void add_ddt(CLI::App* bench, int* exit_code) {
  CLI::App* cmd = bench->add_subcommand("ddt",
                                        "Ping-pong of the halo, transpose and index-list patterns of "
                                        "applications, by plain MPI and by Tasuki in turns.");
  auto c = std::make_shared<DdtCommand>();
  bench::DdtOptions& o = c->options;
  add_common(cmd, &c->common);
  cmd->add_option(
      "--pattern", o.pattern,
      "Measure only the rows whose PATTERN/BYTES this regular expression finds, e.g. 'MG_x|FFT2/1048576'");
  cmd->add_option("--seconds", o.seconds, "Seconds for all rows together (default: 1.1 for each row)")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--iters", o.iterations,
                  "Round trips of each row and job, instead of as many as the time allows")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--rounds", o.rounds, "How many turns each job gets in a row")
      ->check(CLI::Range(5, 1000))
      ->capture_default_str();
  cmd->add_option("--fragments", c->fragments,
                  "Further jobs of plain Open MPI whose messages go through shared memory in fragments of so "
                  "many bytes, e.g. 4KiB,16KiB,64KiB; each row names the best (figure 15 of the paper on "
                  "derived datatypes, "
                  "with TASUKI_PROTOCOL=direct)")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{1} << 10, uint64_t{1} << 24));
  cmd->add_option(
         "--count", o.events,
         "Count such events of both ranks while messages travel: cache misses (figure 12 of the paper "
         "on derived datatypes; not every processor or virtual machine counts them), page faults, "
         "context switches")
      ->delimiter(',')
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(bench::kEvents), std::end(bench::kEvents))));
  add_buffers(cmd, "", &o);
  cmd->callback([c, exit_code] { *exit_code = run_ddt(c.get()); });
}

// Measurements of other benchmarks have other rows and another page.
std::string family(const nlohmann::json& measurement) {
  const std::string benchmark = measurement["benchmark"];
  const bool alone = benchmark == "memory" || benchmark == "space" || benchmark == "apps";
  return alone || benchmark.starts_with("coarray") ? benchmark : "";
}

void add_plot(CLI::App* bench, int* exit_code) {
  CLI::App* cmd = bench->add_subcommand("plot", "Make a page of figures from measurements.");
  auto files = std::make_shared<std::vector<std::string>>();
  auto html = std::make_shared<std::string>();
  cmd->add_option("json", *files, "Files that --json wrote")->required();
  cmd->add_option("--html", *html, "The page to write")->required();
  cmd->callback([files, html, exit_code] {
    if (Status s = os::check_output("--html", *html); !s.ok()) {
      *exit_code = fail(s);
      return;
    }
    std::vector<nlohmann::json> measurements;
    for (const std::string& file : *files) {
      Result<nlohmann::json> m = bench::read_measurement(file);
      if (!m.ok()) {
        *exit_code = fail(m.status());
        return;
      }
      if (!measurements.empty() && family(m.value()) != family(measurements[0])) {
        const std::string one = family(m.value()).empty() ? family(measurements[0]) : family(m.value());
        *exit_code =
            fail(Status::error(EINVAL, file + ": measurements of `" + one + "` have a page of their own"));
        return;
      }
      measurements.push_back(m.value());
    }
    *exit_code = write_page(measurements, *html);
  });
}

void add_compare(CLI::App* bench, int* exit_code) {
  CLI::App* cmd = bench->add_subcommand("compare", "Compare two measurements row by row.");
  auto files = std::make_shared<std::pair<std::string, std::string>>();
  cmd->add_option("old", files->first, "JSON file of the earlier run")->required();
  cmd->add_option("new", files->second, "JSON file of the later run")->required();
  cmd->callback([files, exit_code] {
    Result<nlohmann::json> older = bench::read_measurement(files->first);
    Result<nlohmann::json> newer = bench::read_measurement(files->second);
    if (!older.ok() || !newer.ok()) {
      *exit_code = fail(older.ok() ? newer.status() : older.status());
      return;
    }
    if (family(older.value()) != family(newer.value())) {
      *exit_code = fail(Status::error(
          EINVAL, files->first + " and " + files->second + " are measurements of different benchmarks"));
      return;
    }
    fputs(bench::comparison(older.value(), newer.value()).c_str(), stdout);
    *exit_code = 0;
  });
}

}  // namespace

void add_bench(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand("bench", kAboutBench);
  cmd->require_subcommand(1);
  add_ddt(cmd, exit_code);
  add_bench_sweeps(cmd, exit_code);
  add_bench_memory(cmd, exit_code);
  add_bench_coarray(cmd, exit_code);
  add_bench_apps(cmd, exit_code);
  add_bench_space(cmd, exit_code);
  add_plot(cmd, exit_code);
  add_compare(cmd, exit_code);
  add_bench_startup(cmd, exit_code);
}

}  // namespace tasuki::tool
