// `tasuki bench pack`, `typed`, `messages`, `bcast`, `rma`, `collectives`: sweeps of block size, number of
// blocks, stride, threads and segments; and, with --ddt and --peers, the applications' patterns against every
// MPI library that is there.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "bench/driver/benchmarks/sweep.h"
#include "tools/bench/common.h"

namespace tasuki::tool {
namespace {

struct SweepCommand {
  bench::SweepOptions options;
  bench::DdtOptions ddt;
  BenchCommon common;
  bool patterns = false;  // --ddt, --peers
  std::vector<std::string> peers;
};

std::vector<uint64_t> powers_of(uint64_t base, uint64_t from, uint64_t to) {
  std::vector<uint64_t> all;
  for (uint64_t n = from; n <= to; n *= base) all.push_back(n);
  return all;
}

// The other library of the build, and those that the user names.
Status add_peers(const SweepCommand& c, const std::string& mpi, const std::string& program,
                 std::vector<bench::Peer>* peers) {
  *peers = other_mpis(mpi, program);
  for (const std::string& text : c.peers) {
    Result<bench::Peer> peer = parse_peer(text);
    if (!peer.ok()) return peer.status();
    peers->push_back(peer.value());
  }
  return Status();
}

// The patterns of applications, against all libraries.
int run_patterns(SweepCommand* c, bool pack) {
  bench::DdtOptions& o = c->ddt;
  if (Status s = check_pattern(o.pattern); !s.ok()) return fail(s);
  if (Status s = prepare(c->common, "ddt", &o); !s.ok()) return fail(s);
  o.pack = pack;
  if (Status s = add_peers(*c, o.mpi.name, "ddt", &o.peers); !s.ok()) return fail(s);
  for (const int n : c->options.helpers)
    if (n > 0) o.helpers.push_back(n);
  o.seconds = c->options.seconds;
  o.rounds = std::max(5, c->options.rounds);
  return measure_and_report(c->common, [&o](const auto& progress) { return bench::run_ddt(o, progress); });
}

int run_sweep(SweepCommand* c) {
  bench::SweepOptions& o = c->options;
  if (o.helpers.empty()) {
    int ranks = o.what == bench::Sweep::pack ? 1 : 2;
    for (const int n : o.ranks) ranks = std::max(ranks, n);
    for (const int n : {0, std::max(0, bench::usable_cores() / ranks - 1)}) o.helpers.push_back(n);
  }
  std::sort(o.helpers.begin(), o.helpers.end());
  o.helpers.erase(std::unique(o.helpers.begin(), o.helpers.end()), o.helpers.end());
  if (c->patterns) return run_patterns(c, o.what == bench::Sweep::pack);
  if (Status s = prepare(c->common, "sweep", &o); !s.ok()) return fail(s);
  if (o.what == bench::Sweep::messages || o.what == bench::Sweep::rma || o.what == bench::Sweep::collectives)
    if (Status s = add_peers(*c, o.mpi.name, "sweep", &o.peers); !s.ok()) return fail(s);
  return measure_and_report(c->common, [&o](const auto& progress) { return bench::run_sweep(o, progress); });
}

using Sizes = std::vector<uint64_t>;

void add_list(CLI::App* cmd, const std::string& name, Sizes* list, const std::string& help) {
  cmd->add_option(name, *list, help)
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 30));
}

std::shared_ptr<SweepCommand> add_sweep(CLI::App* bench, int* exit_code, const char* name, const char* help,
                                        bench::Sweep what, CLI::App** cmd) {
  *cmd = bench->add_subcommand(name, help);
  auto c = std::make_shared<SweepCommand>();
  c->options.what = what;
  add_common(*cmd, &c->common);
  (*cmd)
      ->add_option("--threads", c->options.helpers,
                   "Numbers of helper threads of a rank, TASUKI_THREADS (default: 0, and as many as there "
                   "are cores for)")
      ->delimiter(',')
      ->check(CLI::Range(0, 256));
  (*cmd)
      ->add_option("--seconds", c->options.seconds,
                   "Seconds for the whole measurement (default: a quarter of a second for each cell)")
      ->check(CLI::PositiveNumber);
  (*cmd)
      ->add_option("--rounds", c->options.rounds, "How many turns each job gets in a cell")
      ->check(CLI::Range(3, 1000))
      ->capture_default_str();
  (*cmd)->callback([c, exit_code] { *exit_code = run_sweep(c.get()); });
  return c;
}

void add_where(CLI::App* cmd, const std::shared_ptr<SweepCommand>& c, int* exit_code) {
  CLI::Option* where =
      cmd->add_option("--where", c->options.where,
                      "Where the ranks are: on this node, half of them on each of two hosts made of network "
                      "namespaces, or both in turn")
          ->delimiter(',')
          ->check(CLI::IsMember({"node", "hosts"}))
          ->capture_default_str();
  cmd->callback([c, where, exit_code] {
    c->options.need_hosts = where->count() > 0;
    *exit_code = run_sweep(c.get());
  });
}

void add_cells(CLI::App* cmd, SweepCommand* c, const Sizes& blocks, const Sizes& counts, uint64_t max_bytes) {
  c->options.blocks = blocks;
  c->options.counts = counts;
  c->options.max_bytes = max_bytes;
  add_list(cmd, "--blocks", &c->options.blocks, "Bytes of a block (default: powers of 4 up to 1 MiB)");
  add_list(cmd, "--counts", &c->options.counts, "Numbers of blocks (default: powers of 4 up to 1 Mi)");
  cmd->add_option("--strides", c->options.strides, "Distances from block to block, in block lengths")
      ->delimiter(',')
      ->check(CLI::Range(2, 4096))
      ->capture_default_str();
  cmd->add_option(
         "--max-bytes", c->options.max_bytes,
         "Leave out cells with more data than this (default: " + std::to_string(max_bytes >> 20) + " MiB)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 30));
}

void add_peer(CLI::App* cmd, SweepCommand* c, const std::string& program, const std::string& when = "") {
  cmd->add_option("--peer", c->peers,
                  when + "a further MPI library, NAME=MPIRUN,PROGRAM; PROGRAM is bench/measure/" + program +
                      " built for it (scripts/bench-peers.sh builds some)")
      ->take_all();
}

void add_patterns(CLI::App* cmd, SweepCommand* c, const std::string& flag, const std::string& help) {
  cmd->add_flag(flag, c->patterns, help);
  cmd->add_option(
      "--pattern", c->ddt.pattern,
      "With " + flag + ": measure only the rows whose PATTERN/BYTES this regular expression finds");
  add_peer(cmd, c, "ddt", "With " + flag + ": ");
  if (flag == "--peers") add_buffers(cmd, "With " + flag + ": ", &c->ddt);
  cmd->add_option("--iters", c->ddt.iterations, "With " + flag + ": repetitions of each row and job")
      ->check(CLI::PositiveNumber);
}

}  // namespace

void add_bench_sweeps(CLI::App* bench, int* exit_code) {
  CLI::App* cmd = nullptr;
  auto pack = add_sweep(
      bench, exit_code, "pack",
      "MPI_Pack and MPI_Unpack by block size, number of blocks, stride and threads: plain MPI, Tasuki, "
      "memcpy.",
      bench::Sweep::pack, &cmd);
  add_cells(cmd, pack.get(), powers_of(4, 1, 1 << 20), powers_of(4, 1, 1 << 20), 16 << 20);
  add_patterns(cmd, pack.get(), "--ddt",
               "Measure the patterns of applications instead, beside hand-written loops and the best of all "
               "MPI libraries");

  auto typed = add_sweep(
      bench, exit_code, "typed",
      "Typed ping-pong by block size and number of blocks, inside the node and between two hosts (network "
      "namespaces of this machine): plain MPI and Tasuki.",
      bench::Sweep::typed, &cmd);
  add_cells(cmd, typed.get(), powers_of(4, 4, 1 << 20), powers_of(4, 1, 1 << 18), 4 << 20);
  add_patterns(cmd, typed.get(), "--peers",
               "Measure the patterns of applications instead, beside the best of all MPI libraries");
  typed->options.where = {"node", "hosts"};
  add_where(cmd, typed, exit_code);

  auto messages = add_sweep(bench, exit_code, "messages",
                            "Contiguous messages by size, inside the node, one and one back, and 64 one "
                            "after the other by MPI_Send and by MPI_Isend (the time of one): the best of all "
                            "MPI libraries and Tasuki.",
                            bench::Sweep::messages, &cmd);
  messages->options.sizes = powers_of(4, 8, 1 << 20);
  add_list(cmd, "--sizes", &messages->options.sizes, "Bytes (default: powers of 4 from 8 to 512 KiB)");
  add_peer(cmd, messages.get(), "sweep");

  auto bcast = add_sweep(bench, exit_code, "bcast",
                         "MPI_Bcast by message size, ranks, segment size and threads, dense and typed, "
                         "inside the node or on two "
                         "hosts (network namespaces of this machine): plain MPI and Tasuki.",
                         bench::Sweep::bcast, &cmd);
  bench::SweepOptions& b = bcast->options;
  b.sizes = powers_of(4, 4 << 10, 4 << 20);
  b.chunks = powers_of(4, 16 << 10, 1 << 20);
  b.ranks = {2, 4};
  add_list(cmd, "--sizes", &b.sizes, "Message bytes (default: powers of 4 from 4 KiB to 4 MiB)");
  add_list(cmd, "--chunks", &b.chunks,
           "Segment bytes: TASUKI_CHUNK, on two hosts TASUKI_SEGMENT (default: powers of 4 from 16 KiB to "
           "1 MiB)");
  cmd->add_option("--ranks", b.ranks, "Numbers of ranks")
      ->delimiter(',')
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  b.where = {"node"};
  add_where(cmd, bcast, exit_code);

  auto rma = add_sweep(
      bench, exit_code, "rma",
      "MPI_Put, MPI_Get, MPI_Accumulate and MPI_Fetch_and_op by size, contiguous and typed, inside the node: "
      "the best of all MPI libraries and Tasuki.",
      bench::Sweep::rma, &cmd);
  rma->options.sizes = powers_of(8, 8, 4 << 20);
  rma->options.sizes.push_back(4 << 20);
  add_list(cmd, "--sizes", &rma->options.sizes,
           "Bytes, multiples of 8 (default: powers of 8 from 8 to 2 MiB, and 4 MiB)");
  add_peer(cmd, rma.get(), "sweep");

  auto collectives = add_sweep(bench, exit_code, "collectives",
                               "Collective operations by size and ranks, inside the node beside the best of "
                               "all MPI libraries, or on two "
                               "hosts (network namespaces of this machine) beside plain MPI.",
                               bench::Sweep::collectives, &cmd);
  bench::SweepOptions& c = collectives->options;
  c.sizes = {8, 256, 4 << 10, 64 << 10, 1 << 20};
  c.ranks = {2, 4};
  c.operations = {"allreduce",
                  "reduce",
                  "reduce_scatter_block",
                  "scan",
                  "allgather",
                  "alltoall",
                  "alltoallw",
                  "neighbor_alltoallw",
                  "gather",
                  "scatter",
                  "barrier",
                  "iallreduce",
                  "iallgather",
                  "ialltoall",
                  "ialltoallw",
                  "ineighbor_alltoallw",
                  "igather",
                  "iscatter"};
  add_list(cmd, "--sizes", &c.sizes,
           "Bytes of the vector that each rank gives to a reduction, or of the piece that one rank has for "
           "another (default: 8, 256, 4 KiB, 64 KiB, 1 MiB)");
  cmd->add_option("--ranks", c.ranks, "Numbers of ranks")
      ->delimiter(',')
      ->check(CLI::Range(2, 1024))
      ->capture_default_str();
  c.where = {"node"};
  add_where(cmd, collectives, exit_code);
  add_peer(cmd, collectives.get(), "sweep");
  cmd->add_option("--operations", c.operations, "Which of them (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(c.operations));
}

}  // namespace tasuki::tool
