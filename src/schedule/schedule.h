// Schedules: collective operations as data. No MPI and no threads: whoever executes one (the simulator, an
// MPI layer, a test) walks the steps.
//
//   schedule    for each rank, its steps
//   step        one message: send or receive a range of a named buffer, to or from a peer
//   lane        an independent sequence within a rank: lanes progress side by side
//   round       the steps of one lane and round start together; a lane's next round starts when all of them
//   are
//               done. That is the only dependence between steps.
//   gap         pacing: time between two packets of a message, in eighths of a packet time
//   nic         which way a message leaves: 2 * dimension for the positive direction, + 1 for the negative
//   one shape       extents of the torus or mesh that the ranks fill, dimension 0 fastest algorithm   what
//   makes a schedule: one file, one registered name
//
// Matching: message k that rank a sends to b in a lane is receive k that b has from a in the same lane; both
// have the same number of bytes. A send may be executed with rendezvous semantics (it ends when its receive
// does): no algorithm here counts on buffers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tasuki::schedule {

enum class Action : uint8_t { send, receive };

inline constexpr int16_t kAnyNic = -1;

struct Step {
  Action action;
  uint8_t buffer;  // index into Schedule::buffers
  int16_t nic;     // of a send; kAnyNic: the network's routing decides
  uint32_t peer;
  uint32_t lane;
  uint32_t round;
  uint32_t gap;     // of a send
  uint64_t offset;  // bytes
  uint64_t bytes;   // never 0
};

struct Schedule {
  std::string algorithm;
  std::vector<std::string> buffers;
  uint32_t lanes = 0;
  std::vector<std::vector<Step>> steps;  // by rank; within a lane by rising round
};

struct Parameters {
  uint32_t ranks = 1;
  uint32_t root = 0;
  uint64_t bytes = 0;
  uint64_t segment = 0;           // bytes of a pipelined message; 0: whole
  std::vector<uint32_t> shape{};  // empty: the ranks have no neighbours
  bool wraps = true;              // torus, not mesh
  uint32_t gap = 0;
};

struct Algorithm {
  const char* name;       // unique: what users write
  const char* operation;  // "broadcast"
  const char* summary;    // one line
  bool needs_shape;
  Result<Schedule> (*make)(const Parameters& parameters);  // parameters that passed check()
};

// All algorithms, in the order in which they are listed to users.
std::span<const Algorithm* const> algorithms();
const Algorithm* find(std::string_view name);  // nullptr: no such name

// Checks the parameters and makes the schedule; an error says which parameter is wrong. Thread-safe.
Result<Schedule> make(const Algorithm& algorithm, const Parameters& parameters);

}  // namespace tasuki::schedule
