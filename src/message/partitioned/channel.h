// Partitioned communication between tasks of one space (MPI-4.0, chapter 4): a send and a receive meet once,
// when the second of them is made, and are then started as often as the program likes. The sender says of one
// partition of its buffer after the other that it is ready.
//
//   channel    what the two sides share: both regions, and a word for each partition of the sender
//   epoch      one start on each side, up to completion; counted from 1 by both
//
// A partition is copied by the side that comes second: by the sender when it is ready, if the receiver has
// started this epoch, else by the receiver when it starts. So neither side ever waits for the other one to be
// in a call, and nobody has to look. Whoever copies the last one completes both requests.
//
// The two sides may divide their buffers differently. Partitions are those of the sender; those of the
// receiver are arrived when the sender's that overlap them are.
//
// Budget: ready() of a receiver that has started is a copy and one locked instruction; of one that has not,
// three of these. No lock, no allocation, no system call (a sleeping peer is woken at the end of the epoch).
#pragma once

#include "message/engine.h"

namespace tasuki::message {

// Shared: in a cell of the sender, which goes back to it when both sides are gone.
struct Channel {
  // The sender's.
  Cell* cell;
  Request* sender;
  layout::Region source;
  uint64_t bytes, part_bytes;
  uint32_t parts;
  std::atomic<uint32_t> users;  // sides that are not gone
  // The receiver's, from when they meet.
  Request* receiver;
  layout::Region sink;
  uint64_t room;                                 // bytes that are moved: what is sent, as far as it fits
  alignas(kLine) std::atomic<uint32_t> started;  // the epoch that the receiver has started last
  // Twice the partitions of this epoch, less one for each that is copied and one for each call of ready()
  // that will not look at this structure again: the epoch is over when both are through.
  alignas(kLine) std::atomic<uint32_t> pending;
  // They follow the structure: 4 * epoch + PartState.
  std::atomic<uint32_t>& word(uint32_t part) {
    return reinterpret_cast<std::atomic<uint32_t>*>(this + 1)[part];
  }
};

// One task's sides of channels. Requests are of kind send or receive; they are inactive when made, and are
// waited for and tested as others. ready() and arrived() may be called by several threads at once.
class Channels {
 public:
  explicit Channels(Engine& engine) : engine_(engine) {}

  // Region, context, tag and peer are set, of a send also envelope.source_rank. The context is one that
  // partitioned() makes, and wildcards do not match. False: no memory.
  bool open_send(Request* r, uint32_t partitions);
  void open_receive(Request* r, uint32_t partitions);

  void start(Request* r);
  // Of a send that is started. False: this partition has been ready before.
  bool ready(Request* r, uint32_t partition);
  // Of a receive that is started.
  static bool arrived(const Request* r, uint32_t partition);

  // A receive that has not met its send cannot be closed: its place in the order counts.
  static bool has_met(const Request* r) { return r->channel.load(std::memory_order_acquire) != nullptr; }
  // The request has no part in it any more.
  static void close(Request* r);

 private:
  void pull(Channel& c, uint32_t epoch);
  void copy_part(Channel& c, uint32_t part, uint32_t epoch, uint32_t shares);

  Engine& engine_;
};

}  // namespace tasuki::message
