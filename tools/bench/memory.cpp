// `tasuki bench memory`: programs with more data than memory: cluster memory, and what else there is.

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/bytes.h"
#include "base/settings.h"
#include "bench/driver/benchmarks/memory.h"
#include "os/process/executable.h"
#include "tools/bench/common.h"

namespace tasuki::tool {
namespace {

struct MemoryCommand {
  bench::MemoryChoice choice;
  bench::MemoryOptions options;
  BenchCommon common;
  std::vector<std::string> mpis, pages;
  CLI::Option* where = nullptr;
};

Status find_programs(MemoryCommand* c) {
  bench::MemoryOptions& o = c->options;
  for (const std::string& name : c->mpis) {
    Result<MpiProgram> program = find_mpi(name, "", "memory-dlm"),
                       transport = find_mpi(name, "", "memory-transport");
    if (!program.ok()) return program.status();
    if (!transport.ok()) return transport.status();
    o.mpis.push_back({program.value().mpi, program.value().program, transport.value().program});
  }
  o.plain_program = os::own_prefix() + "/libexec/tasuki/memory-plain";
  o.umap_program = os::own_prefix() + "/libexec/tasuki/memory-umap";
  if (os::why_not_executable(o.umap_program) != 0) o.umap_program.clear();
  if (os::why_not_executable(o.plain_program) != 0)
    return Status::error(ENOENT, o.plain_program + " not found: this installation is not complete");
  return Status();
}

int run(MemoryCommand* c) {
  bench::MemoryOptions& o = c->options;
  if (Status s = find_programs(c); !s.ok()) return fail(s);
  for (const std::string& text : c->pages) {
    uint64_t bytes = 0;
    if (text != "auto" && !parse_bytes(text, ByteUnits::binary, &bytes))
      return fail(Status::error(EINVAL, "--page-sizes '" + text + "': neither `auto` nor a size"));
    if (text != "auto" && (bytes == 0 || bytes % 4096 != 0 || bytes > (2 << 20)))
      return fail(Status::error(EINVAL, "--page-sizes: " + text + " is not a multiple of 4 KiB up to 2 MiB"));
    c->choice.pages.push_back(bytes);
  }
  o.launch_args = words_of(c->common.launch_args);
  o.need_hosts = c->where->count() > 0;
  o.paper = c->choice.paper;
  Result<std::vector<bench::MemoryGroup>> groups = bench::plan(c->choice, o.mpis.size());
  if (!groups.ok()) return fail(groups.status());
  o.groups = groups.value();
  return measure_and_report(c->common, [&o](const auto& progress) { return bench::run_memory(o, progress); });
}

}  // namespace

void add_bench_memory(CLI::App* bench, int* exit_code) {
  CLI::App* cmd =
      bench->add_subcommand("memory",
                            "Programs with more data than local memory, in cluster memory and in what a user "
                            "would choose instead, beside plain malloc in the same run.");
  auto c = std::make_shared<MemoryCommand>();
  bench::MemoryChoice& choice = c->choice;
  bench::MemoryOptions& o = c->options;
  c->mpis = {default_mpi()};
  const char* tmp = getenv("TMPDIR");
  o.folder = tmp != nullptr && *tmp != '\0' ? tmp : "/tmp";
  cmd->add_option("--mpi", c->mpis, "MPI libraries")
      ->delimiter(',')
      ->check(CLI::IsMember(mpi_names()))
      ->capture_default_str();
  add_files(cmd, &c->common);
  cmd->add_flag("--full", choice.full,
                "Measure all kernels at all sizes of local memory, with all protocols and page sizes, which "
                "takes hours; with other options: more sizes of local memory");
  cmd->add_flag("--paper", choice.paper,
                "Measure what the DLM-MPI paper's tables and figures say in numbers, in its way and in ours, "
                "and print both beside them as a table in Markdown, which takes about an hour; --kernels "
                "selects a part");
  cmd->add_option("--kernels", choice.kernels,
                  "Kernels, NAME, NAME:SIZE or NAME:SIZE:PART+PART: stream, himeno, himeno-double, matvec, "
                  "is, cg, mg, "
                  "ft, bt, sp, lu, ep, random-update, random-read")
      ->delimiter(',');
  cmd->add_option("--ratios", choice.ratios, "Sizes of local memory, in per cent of the data")
      ->delimiter(',')
      ->check(CLI::Range(0.1, 100.0));
  cmd->add_option("--page-sizes", c->pages, "Page sizes: auto, or multiples of 4 KiB up to 2 MiB")
      ->delimiter(',');
  cmd->add_option("--protocols", choice.protocols, "Swap protocols")
      ->delimiter(',')
      ->check(CLI::IsMember({"ahead", "cs", "cross", "as1", "as2"}));
  cmd->add_option("--servers", choice.servers, "Numbers of memory servers; 0: a disk instead (--folder)")
      ->delimiter(',')
      ->check(CLI::Range(0, 512));
  c->where = cmd->add_option("--where", choice.where,
                             "node: servers on this host; hosts: on another one, made of network namespaces")
                 ->delimiter(',')
                 ->check(CLI::IsMember({"node", "hosts"}));
  cmd->add_option("--threads", choice.threads, "Numbers of threads that the programs use")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  cmd->add_option("--settings", choice.settings,
                  "Further settings of the pager, e.g. 'prefetch=off replacement=fifo'; each list is "
                  "measured as a case of its own")
      ->delimiter(',');
  std::vector<std::string> peers(std::begin(bench::kMemoryPeers), std::end(bench::kMemoryPeers));
  cmd->add_option("--peers", choice.peers,
                  "Measure these, too: swap space under a limit of memory (swap-disk, swap-zram), a mapped "
                  "file under such a limit (file-ram, file-disk), LLNL UMap (umap)")
      ->delimiter(',')
      ->check(CLI::IsMember(peers));
  cmd->add_flag("--no-peers", choice.no_peers, "Measure cluster memory and plain memory only");
  cmd->add_option("--reps", choice.repetitions, "Timed repetitions of each start")->check(CLI::Range(1, 500));
  cmd->add_option("--warm", choice.warm, "Repetitions before the timed ones")->check(CLI::Range(0, 500));
  cmd->add_option("--rounds", o.rounds, "How often each measurement is started, in turns")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  cmd->add_option("--limit", o.limit_seconds,
                  "Seconds after which a run is given up, which counts as a failure")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cmd->add_option(
         "--peer-limit", o.peer_limit_seconds,
         "Seconds after which a run without cluster memory is given up, which does not count as a failure")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cmd->add_option("--transport-seconds", o.transport_seconds,
                  "Seconds for each of the 36 measurements of how fast the MPI library and memory move pages")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  cmd->add_option("--folder", o.folder,
                  "Folder for the files of swap-disk and file-disk, and for pages on a disk")
      ->check(CLI::ExistingDirectory)
      ->capture_default_str();
  cmd->callback([c, exit_code] { *exit_code = run(c.get()); });
}

}  // namespace tasuki::tool
