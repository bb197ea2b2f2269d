// A barrier between tasks of one space: arrivals are counted in a tree of counters, and the last task to
// arrive moves on the number that all others poll.
//
// Counters and not messages to each other in rounds (dissemination): where ranks outnumber cores every
// message to a rank that does not run costs a switch, while a task needs to run only twice here. Up to kArity
// tasks share a counter, so that many tasks on many cores do not queue up for one line.
//
// Cost: one locked instruction for each level of the tree, one line read by all; no system call unless tasks
// sleep. Barrier of 2 ranks on 2 cores: see docs/performance.md.
#pragma once

#include "message/engine.h"

namespace tasuki::message {

struct Posts;  // meeting.h

// Shared: plain data, mapped for ever. A late poller may still look at `generation` while the structure
// serves another communicator already: the number only ever grows, so it sees what it waits for.
struct alignas(kLine) Barrier {
  std::atomic<uint32_t> generation;  // barriers completed
  uint32_t counters;                 // they follow
  uint32_t places;                   // at most so many tasks use it
  Barrier* next;                     // among its owner's free ones
  std::atomic<Posts*> posts;         // what its tasks show each other; nullptr: nothing yet (meeting.h)
  struct alignas(kLine) Counter {
    std::atomic<uint32_t> arrived;  // 0 between two barriers
  };
  Counter* counter() { return reinterpret_cast<Counter*>(this + 1); }
};

// One task's free barriers, for the communicators in which it has rank 0. Thread-safe.
class BarrierPool {
 public:
  // For `tasks` > 0; nullptr when memory is exhausted. One whose posts somebody may still read stays where
  // it is.
  Barrier* take(int tasks);
  void give(Barrier* b);

 private:
  static constexpr size_t kSlab = 16 << 10;
  SpinLock lock_;
  Barrier* free_ = nullptr;
  char* slab_ = nullptr;
  size_t left_ = 0;  // bytes of the slab
};

// Returns when all `count` tasks of the barrier have called it; `slots` by rank. As other collective
// operations it is called by one thread of a task at a time. `library`: others wait for the MPI library here,
// which is to get on meanwhile.
void enter_barrier(Engine& engine, Barrier& b, int rank, int count, const int* slots, bool library = false);

}  // namespace tasuki::message
