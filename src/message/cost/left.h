// Collective operations that are left to the MPI library because it is the faster one on this machine:
// rules that `tasuki tune --collectives` measures, or a user writes. All ranks of a communicator must come
// to the same answer, so a rule speaks of what each of them knows by itself: the operation, its bytes
// where they are the same on all ranks, and the number of ranks. (How a datatype is built is not: a
// sender's may be another one than its receiver's.)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tasuki::message {

enum class Collective : uint8_t {
  allgather,
  allgatherv,
  allreduce,
  alltoall,
  alltoallv,
  alltoallw,
  barrier,
  bcast,
  exscan,
  gather,
  gatherv,
  reduce,
  reduce_scatter,
  reduce_scatter_block,
  scan,
  scatter,
  scatterv,
};
// In the order of the enumeration.
inline constexpr const char* kCollectiveNames[] = {
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw",      "barrier",
    "bcast",     "exscan",     "gather",    "gatherv",  "reduce",    "reduce_scatter", "reduce_scatter_block",
    "scan",      "scatter",    "scatterv"};

struct LeftRule {
  Collective operation;
  uint32_t fewest = 2, most = UINT32_MAX;       // ranks
  uint64_t smallest = 0, largest = UINT64_MAX;  // bytes of a vector, or of the piece for one rank
};

// Plain memory: one task writes it, and all of its space read it.
struct LeftCollectives {
  static constexpr uint32_t kMost = 64;
  LeftRule rules[kMost];
  uint32_t count;

  // What is left whatever its bytes are, for an operation whose ranks may have different ones.
  static constexpr uint64_t kAnyBytes = UINT64_MAX;
  bool have(Collective operation, uint64_t bytes, uint32_t ranks) const;
};

// Adds the rules of a text such as "allreduce:8-256@2,mpich/barrier@4-8,scan": operations, their bytes and
// ranks (one number, or the least and the most; default: all), each for one library or for all. Those for
// another library than `library` (a name of kMpiAbis) are left out. An error says which word is
// wrong; *left is then as before.
Status parse_left(std::string_view text, std::string_view library, LeftCollectives* left);
// What was measured of an operation: how many times as long the library took.
struct LeftSample {
  Collective operation;
  uint32_t ranks;
  uint64_t bytes;
  double ratio;
};
// Rules for what the library does faster by 5 % or more. A rule has the bytes from the smallest to the
// largest of neighbouring sizes, and the ranks from the fewest to the most of neighbouring numbers, at all
// of which that is so. Operations whose ranks may have different bytes, and the barrier, are left as a
// whole or not at all.
std::vector<LeftRule> rules_for(const std::vector<LeftSample>& samples);
// One rule as parse_left() reads it.
std::string left_text(const LeftRule& rule);

}  // namespace tasuki::message
