// Schedules: collective operations as data. No MPI and no threads: whoever executes one (the simulator, an
// MPI layer, a test) walks the steps.
//
//   schedule    for each rank, its steps. They are computed on demand, rank by rank and round by round, so
//               that a schedule takes no memory to speak of whatever the number of ranks.
//   step        a message: send or receive a range of a named buffer, to or from a peer;
//               or local work: copy or reduce one range of this rank's buffers into another
//   lane        an independent sequence within a rank: lanes progress side by side
//   round       the steps of one lane and round start together; a lane's next round starts when all of them
//               are done. That is the only dependence between steps. No step of a round writes a range that
//               another step of that round reads or writes.
//   sequence    the round as the algorithm counts it, which stays the same when other schedules are put
//               between: what pacing and reports go by (the paper on packet pacing calls A2AT's rounds so)
//   gap         pacing: time between two packets of a message, in 1/256 of a packet time (kGapUnit)
//   nic         which DMA engine (injection port) of its node a message leaves by, from 0; an executor takes
//               it modulo the number that its machine has. It is not a direction: that is up to routing.
//   shape       extents of the torus or mesh that the ranks fill, dimension 0 fastest
//   algorithm   what makes a schedule: one file, one registered name
//
// Matching: message k that rank a sends to b in a lane is receive k that b has from a in the same lane; both
// have the same number of bytes. A send may be executed with rendezvous semantics (it ends when its receive
// does): no algorithm here counts on buffers.
//
// Operations, and what Parameters::bytes and the buffers are. Buffers that are not named here are scratch.
//
//   broadcast   bytes: the message.                   data: the root's before, everybody's after
//   alltoall    bytes: one (source, destination) pair's block.   send: one block for each destination;
//                                                     receive: one block from each source, both by rank
//   allreduce   bytes: one rank's contribution.       data: the contribution before, the result after
//   barrier     bytes mean nothing.                   no buffers, messages without content
//   halo        bytes: one face, the same on every side.   send, receive: 2 * d the face on the positive side
//                                                     of dimension d, 2 * d + 1 that on the negative side
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tasuki::schedule {

// copy: buffer <- from; reduce: buffer <- buffer combined with from, by an operator that is commutative and
// associative (the order is the same on all ranks that get a result, so that they get the same one).
enum class Action : uint8_t { send, receive, copy, reduce };

inline constexpr int16_t kAnyNic = -1;
inline constexpr uint32_t kNoPeer = UINT32_MAX;
inline constexpr uint32_t kGapUnit = 256;
inline constexpr uint32_t kBarrier = UINT32_MAX;  // sequence of what with_barriers() puts between rounds

struct Step {
  Action action;
  uint8_t buffer;  // index into Schedule::buffers()
  int16_t nic;     // of a send; kAnyNic: the executor decides
  uint32_t peer;   // kNoPeer: local work
  uint32_t lane;
  uint32_t round;
  uint32_t gap;     // of a send
  uint64_t offset;  // bytes
  uint64_t bytes;  // 0: a message without content, for which buffer and offset mean nothing; never local work
  uint32_t sequence = 0;
  uint8_t from_buffer = 0;   // of local work
  uint64_t from_offset = 0;  // of local work
};

struct Buffer {
  std::string name;
  uint64_t bytes = 0;  // on every rank
};

struct Parameters {
  uint32_t ranks = 1;
  uint32_t root = 0;
  uint64_t bytes = 0;             // see the operations above; 0: nothing to do but for a barrier
  uint64_t segment = 0;           // bytes of a pipelined message; 0: whole
  std::vector<uint32_t> shape{};  // empty: the ranks have no neighbours
  bool wraps = true;              // torus, not mesh
  uint32_t gap = 0;               // of every send, in 1 / kGapUnit packet times
  uint32_t element = 1;           // bytes of what a reduction may not cut apart; divides `bytes` there
};

// What is the same for all ranks.
struct Outline {
  std::vector<Buffer> buffers;
  std::vector<uint32_t> rounds;  // by lane
};

struct Algorithm {
  const char* name;       // unique over all operations: what users write
  const char* operation;  // "broadcast", "alltoall", "allreduce", "barrier" or "halo"
  const char* summary;    // one line
  bool needs_shape;
  // Both get parameters that passed the common checks; outline() checks what this algorithm wants beyond.
  Result<Outline> (*outline)(const Parameters& parameters);
  // Appends a rank's steps of one round; lane, round, sequence and gap are filled in by the caller.
  void (*emit)(const Parameters& parameters, uint32_t rank, uint32_t lane, uint32_t round,
               std::vector<Step>& out);
  const char* alias = nullptr;  // a second name for find()
};

// Immutable but for set_gaps(); the const functions are thread-safe.
class Schedule {
 public:
  const std::string& algorithm() const { return algorithm_; }  // of a combination: names joined by '+'
  const std::string& operation() const { return operation_; }
  uint32_t ranks() const { return ranks_; }
  uint32_t lanes() const { return static_cast<uint32_t>(spans_.size()); }
  const std::vector<Buffer>& buffers() const { return buffers_; }
  uint32_t rounds(uint32_t lane = 0) const;  // of the rank that has most; others have empty rounds
  uint32_t sequences() const { return sequences_; }

  // Replaces `out` by the steps of one rank in one round of a lane: maybe none. Receives come first.
  void round(uint32_t rank, uint32_t lane, uint32_t round, std::vector<Step>& out) const;
  // All steps of a rank, lane after lane, within a lane by rising round.
  std::vector<Step> steps(uint32_t rank) const;

 private:
  // A made algorithm, or one of those that were combined.
  struct Part {
    const Algorithm* algorithm;
    Parameters parameters;
    std::vector<uint8_t> buffers;  // its buffers' numbers here
  };
  // Consecutive rounds of a part, in one lane.
  struct Span {
    uint32_t part;
    uint32_t begin, end;  // rounds here
    uint32_t first;       // round of the part that `begin` is
    uint32_t sequence;    // of round `begin`; kBarrier: of all
  };
  uint32_t add_parts(const Schedule& other);
  void add_span(uint32_t lane, Span span, uint32_t rounds);

  std::string algorithm_, operation_;
  uint32_t ranks_ = 0, sequences_ = 0;
  std::vector<Buffer> buffers_;
  std::vector<Part> parts_;
  std::vector<std::vector<Span>> spans_;     // by lane
  std::vector<std::vector<uint32_t>> gaps_;  // by sequence and hops; empty: that of the parameters

  friend Result<Schedule> make(const Algorithm&, const Parameters&);
  friend Result<Schedule> concatenate(std::span<const Schedule>);
  friend Result<Schedule> with_barriers(const Schedule&);
  friend Status set_gaps(Schedule&, const std::function<uint32_t(uint32_t, uint32_t)>&);
};

// All algorithms, in the order in which they are listed to users.
std::span<const Algorithm* const> algorithms();
const Algorithm* find(std::string_view name);  // name or alias; nullptr: no such name

// Checks the parameters and makes the schedule; an error says which parameter is wrong. Thread-safe.
Result<Schedule> make(const Algorithm& algorithm, const Parameters& parameters);

// Every rank's steps, stored: for small schedules only.
std::vector<std::vector<Step>> materialise(const Schedule& schedule);

// One after the other, lane by lane: a rank goes on in a lane when its own rounds there are done. Buffers of
// the same name are the same buffer. All need the same number of ranks and of lanes.
Result<Schedule> concatenate(std::span<const Schedule> schedules);

// A dissemination barrier between any two rounds. Only for schedules of one lane.
Result<Schedule> with_barriers(const Schedule& schedule);

// Sets the gap of every send to gap(sequence, hops of the message on the shape), but for the barriers that
// with_barriers() puts between; may be called before that or after. Needs schedules made with a shape.
Status set_gaps(Schedule& schedule, const std::function<uint32_t(uint32_t sequence, uint32_t hops)>& gap);

// Links from one rank to another by a shortest way, and the most that there are between any two.
uint32_t hops(const std::vector<uint32_t>& shape, bool wraps, uint32_t from, uint32_t to);
uint32_t diameter(const std::vector<uint32_t>& shape, bool wraps);

}  // namespace tasuki::schedule
