// A broadcast between tasks of one space: every receiver copies straight from the root's memory.
//
// The root tells each receiver by a small message in the communicator's collective context, so that the
// rings, the matching and the order of point-to-point messages serve here too:
//   inline     up to kInlineBytes: the message is the data
//   buffered   up to kBroadcastBuffer: the root packs into a buffer, sends its address and leaves
//   direct     larger: the root sends the address of its typed buffer and stays until all have copied; it and
//              whoever has nothing to do take parts of the receivers' copies (job.h)
// Which of the three it is travels with the message, so the tasks need not agree on anything but that the
// broadcast takes place here.
#pragma once

#include "message/collectives/tell.h"

namespace tasuki::message {

// Beyond this a second pass over the data costs more than the wait for the last receiver: 8 KiB between two
// ranks take 0.6 us through a buffer, 0.35 us without; 32 KiB 4.2 and 0.8 us.
inline constexpr uint64_t kBroadcastBuffer = 4 << 10;

// Instead of a number of bytes: the rest will never come.
inline constexpr uint64_t kBroken = UINT64_MAX;

// What receivers read. Memory of the root, mapped for ever.
struct alignas(kLine) Broadcast {
  layout::Region source;
  uint64_t bytes;
  Endpoint* root;
  // Receivers that may still read, plus one while the root uses the structure; 0: free.
  alignas(kLine) std::atomic<uint32_t> readers;
  // Bytes of `source` that are there; the rest arrives while receivers copy (a message between hosts).
  alignas(kLine) std::atomic<uint64_t> ready;
  alignas(kLine) char data[kBroadcastBuffer];
};

// One task's side. Thread-safe as the engine is; broadcasts of one context are called one after the other, as
// MPI demands of collective calls on one communicator.
class Broadcaster {
 public:
  using Group = Member;

  explicit constexpr Broadcaster(Engine& engine) : engine_(&engine) {}
  Broadcaster(const Broadcaster&) = delete;
  Broadcaster& operator=(const Broadcaster&) = delete;

  // The root's part. On return `source` may be changed. False, with nothing sent, when memory is exhausted.
  bool send(const Group& group, const layout::Region& source);
  // The root's part in steps, for data that arrive bit by bit in a dense buffer: tells the receivers, then
  // tells them how much has come (or kBroken), then waits until all have copied everything. nullptr: as
  // false.
  Broadcast* open(const Group& group, const layout::Region& source, uint64_t ready);
  void advance(const Group& group, Broadcast* b, uint64_t ready);
  void close(Broadcast* b);
  // A receiver's part: fills `destination` as far as both reach. *bytes: what the root sent. False, with
  // nothing received, when memory is exhausted, or the rest of the data never comes.
  bool receive(const Group& group, int root, const layout::Region& destination, uint64_t* bytes);

 private:
  // Buffers in flight before the root waits for its receivers: 256 KiB.
  static constexpr uint32_t kMost = 64;
  Broadcast* take();
  Broadcast* take_free();
  bool copy_as_it_comes(const Broadcast& b, const layout::Region& destination, uint64_t n);
  void publish(const Group& group, Broadcast* b, const layout::Region& source, uint64_t ready);

  Engine* engine_;
  SpinLock lock_;  // pool_, count_
  Broadcast* pool_[kMost] = {};
  uint32_t count_ = 0;
};

}  // namespace tasuki::message
