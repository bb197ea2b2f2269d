// Relayed messages: between processes that share a segment, but not the memory of their programs. What the
// sender packs into a buffer of the segment the receiver unpacks; nobody can copy for the other one. Once the
// two sides have met each needs the other to go on, and a program may be anywhere meanwhile: computing, or in
// a call of the MPI library that ends only when this message has arrived. So each process has a thread that
// sleeps until one of its messages waits for it and its program waits in no call of Tasuki's.
//
// Smaller messages need none of this: they lie packed in the segment, and their sender is done (engine.h).
//
// Thread-safe.
#pragma once

#include <pthread.h>

#include "message/shared/shared.h"

namespace tasuki::message {

// The most that is in the buffer of a relayed message, which is a cell of either side's.
inline constexpr uint32_t kRelayUnits = 32;
inline constexpr uint64_t kRelayUnitBytes = 8 << 10;
// The bytes of that cell.
uint64_t relay_room(uint64_t bytes);

class Relays {
 public:
  Relays() = default;
  Relays(const Relays&) = delete;
  Relays& operator=(const Relays&) = delete;

  void open(Endpoint* self) { self_ = self; }
  // The thread. False: the system gives none.
  bool start_thread();
  void stop_thread();

  // A send and a receive have met, under the receiver's lock or after it: `second` is this process's,
  // `first`, out of its queue, another's. `bytes`: not 0, of the message, as far as the receive has room.
  // `cell`: of relay_room(). Whoever ends it completes its own request, the receiver gives the cell back.
  void meet(Request* first, Request* second, uint64_t bytes, Cell* cell);

  // Packs and unpacks what can be, of all that are under way. False: nothing.
  bool serve() {
    if (__builtin_expect(idle(), 1)) return false;
    return serve_all();
  }

 private:
  bool idle() const {
    return open_.load(std::memory_order_relaxed) == 0 &&
           self_->matched.load(std::memory_order_relaxed) == nullptr;
  }
  bool serve_all();
  void run();
  static void* body(void* self);

  Endpoint* self_ = nullptr;
  std::atomic<uint32_t> busy_{0};  // a thread serves; the rest is its alone
  Request* list_ = nullptr;        // by Transfer::next_relayed
  std::atomic<uint32_t> open_{0};  // how many are in it
  std::atomic<bool> ending_{false};
  bool has_thread_ = false;
  pthread_t thread_{};
};

}  // namespace tasuki::message
