// `tasuki bench memory`: programs whose data are larger than their memory: on cluster memory, and on what a
// user would pick instead, beside plain malloc in the same run.
//
// Each measurement is one start of a program (measure/memory). Measurements of the same kernel make a group
// that begins with plain malloc; groups are repeated as often as there are rounds, so that all of a group see
// the same disturbances. A measurement counts as verified if the program's own check succeeded and its
// results have the checksum of plain malloc's.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/benchmarks/ddt.h"  // DdtProgress
#include "bench/driver/jobs/launch.h"

namespace tasuki::bench {

struct MemoryMpi {
  Mpi mpi;
  std::string program;    // libexec/tasuki/memory-dlm-<mpi>
  std::string transport;  // libexec/tasuki/memory-transport-<mpi>
};

// What is run: a kernel and how.
struct MemoryKernel {
  std::string name;
  std::string size{};   // "": the program's default
  std::string parts{};  // "": all
  int threads = 1;
  int warm = 1, repetitions = 3;
  std::string label{};  // what tells groups of the same kernel and threads apart

  bool operator==(const MemoryKernel&) const = default;
};

// One measurement of a round.
struct MemoryPoint {
  std::string kind = "plain";  // plain, cluster, or one of kMemoryPeers
  double ratio = 100;          // local memory, per cent of the data
  uint64_t page = 0;           // 0: automatic. Of umap too
  std::string protocol;        // "": the pager's default
  int servers = 1;             // 0: a disk instead, in MemoryOptions::folder
  std::string where = "node";  // or "hosts"
  size_t mpi = 0;              // index of MemoryOptions::mpis
  std::string settings;        // further ones of the pager: "prefetch=off replacement=fifo"

  bool operator==(const MemoryPoint&) const = default;
};

struct MemoryGroup {
  MemoryKernel kernel;
  std::vector<MemoryPoint> points;  // the plain one is not in the list
};

// Adds a point, if it is not there.
void add_point(MemoryGroup* group, const MemoryPoint& point);
// The group of that kernel, until the next one is made; it is made if there is none.
MemoryGroup& group_of(std::vector<MemoryGroup>* groups, const MemoryKernel& kernel);

// Swap space and mapped files under a limit of memory (limit.h says where they are), and LLNL UMap.
inline constexpr const char* kMemoryPeers[] = {"swap-disk", "swap-zram", "file-ram", "file-disk", "umap"};
inline constexpr const char* kMemoryKernels[] = {
    "stream", "himeno", "himeno-double", "matvec",     "is", "cg", "mg", "ft", "bt", "sp",
    "lu",     "ep",     "random-update", "random-read"};

// What a user chose; empty lists are filled by plan().
struct MemoryChoice {
  bool full = false;                 // all kernels, at all ratios
  bool paper = false;                // the numbers of the paper (memory_paper.h)
  std::vector<std::string> kernels;  // NAME, NAME:SIZE, NAME:SIZE:PART,PART
  std::vector<double> ratios;
  std::vector<uint64_t> pages;
  std::vector<std::string> protocols, where, peers, settings;
  std::vector<int> servers, threads;
  int warm = -1, repetitions = 0;  // -1, 0: as plan() thinks
  bool no_peers = false;
};

// The groups to measure. With choices of a kernel, ratio, page size and so on: all their combinations, and
// the peers at each ratio. Without any: a tour of about three minutes, or (full) all figures of the paper.
Result<std::vector<MemoryGroup>> plan(const MemoryChoice& choice, size_t mpis);

struct MemoryOptions {
  std::vector<MemoryMpi> mpis;              // at least one
  std::string plain_program, umap_program;  // libexec/tasuki/memory-plain, memory-umap ("": not built)
  std::vector<std::string> launch_args;
  std::vector<MemoryGroup> groups;
  int rounds = 1;
  bool paper = false;                   // of paper_groups()
  bool need_hosts = false;              // an error, not a note, if two hosts cannot be made
  double limit_seconds = 300;           // of one start of a program
  double peer_limit_seconds = 60;       // of one that is not on cluster memory
  double transport_seconds = 0.15;      // for each rate of the transport
  std::string folder;                   // for swap files, mapped files and pages on a disk
  std::string ram_folder = "/dev/shm";  // for UMap's files
};

// The measurement as JSON: the head of run_ddt()'s (`benchmark` "memory", `format`, `machine`, ...) and
//
//   transport   [{mpi, where, servers, sizes: [{page, fetch, fetch4, swap, again, window, copy}]}], bytes per
//               second
//   peers       {kind: "measured", or why not}
//   rows        the measurements. A row has
//     pattern, bytes         what tells it from others; the data's size
//     kernel, size, part, kind, ratio, local_bytes, page, protocol, servers, where, mpi, threads, settings
//     seconds, best_seconds, spread_seconds   of a repetition: median, least, [least, most]
//     job_seconds            of the whole program, from its first allocation to its check
//     relative               seconds / plain malloc's
//     gbps, mflops, mops     what the kernel counts
//     counters               per repetition: the fields of struct dlm_counters (cluster)
//     components             seconds per repetition: compute, wait_previous, wait_page; in, out, map (cluster)
//     moved_gbps, share      pages in and out per second; that over the transport's `fetch` of such pages
//     faults                 {minor, major} of the system
//     verified, failure      failure: what is wrong, if it is not verified
//     finished               false: it took longer than limit_seconds
//   paper       with MemoryOptions::paper: {rows: paper_rows(), table: paper_table()}, of the first library
//   verified    all rows of plain malloc and cluster memory are verified and finished
Result<nlohmann::json> run_memory(const MemoryOptions& options,
                                  const std::function<void(const DdtProgress&)>& progress);

// ---- text
std::string memory_table(const nlohmann::json& measurement);
std::string memory_comparison(const nlohmann::json& older, const nlohmann::json& newer);

// "2 servers"; 0: "a disk".
std::string servers_text(int servers);

// A row's or a point's name, e.g. "himeno M, cluster 7 %, page auto, ahead, 1 server, node, openmpi, 1
// thread".
std::string point_name(const MemoryKernel& kernel, const std::string& part, const MemoryPoint& point,
                       const std::string& mpi);

}  // namespace tasuki::bench
