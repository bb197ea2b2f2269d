// What the ranks of a simulated program did: for reports and traces. Plain data, written while the simulation
// runs (each rank writes its own log only) and read when it is over. Times are simulated, in picoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tasuki::simmpi {

inline constexpr int32_t kNoPeer = -1;   // the call has none
inline constexpr int32_t kAnyPeer = -2;  // MPI_ANY_SOURCE

// One call of MPI.
struct CallRecord {
  const char* name;        // "MPI_Send"; lives as long as the process
  uint64_t begin = 0;      // the rank's time when it called
  uint64_t end = 0;        // and when the call returned; 0: it never did
  int32_t peer = kNoPeer;  // rank in MPI_COMM_WORLD; of a collective with a root: the root
  uint64_t bytes = 0;      // of the rank's own data: sent, or the room for what is received
};

// One message between ranks, as its sender logs it. Control messages of the rendezvous protocol are not
// listed; `requested` is when they began.
struct MessageRecord {
  uint32_t from = 0, to = 0;  // ranks in MPI_COMM_WORLD
  uint64_t bytes = 0;         // payload
  int32_t tag = 0;            // of collectives: negative
  uint64_t requested = 0;     // the send was called
  uint64_t sent = 0;          // the data were handed to the NIC
  uint64_t delivered = 0;     // all bytes are in the receiver's memory; 0: never
};

struct RankLog {
  std::vector<CallRecord> calls;        // by begin; calls within calls are not listed
  std::vector<MessageRecord> messages;  // sent by this rank, by `sent`
  uint64_t call_count = 0, message_count = 0, message_bytes = 0;  // also of what was not kept
  uint64_t in_mpi = 0;                                            // time within calls
  uint64_t computing = 0;  // time by tasuki_sim_compute, sleep and compute_scale
  uint64_t finished = 0;   // when the rank ended
};

struct ProgramLog {
  std::vector<RankLog> ranks;
  std::vector<uint32_t> node_of;  // by rank
  bool truncated = false;         // ProgramOptions::most_records was reached: the first ones were kept
};

}  // namespace tasuki::simmpi
