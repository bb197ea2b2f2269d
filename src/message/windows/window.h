// Windows of one-sided communication between tasks of one space: what their ranks share, and how they wait
// for each other. A put or a get is a copy by the rank that asks for it and complete when its call returns;
// so synchronisation moves no data here, it only orders.
//
//   part      one rank's contribution to a window: where its memory is, and the words that others wait on
//   index     a rank among the members of a window that are tasks of this space
//   access    what a rank does to another one's part, between lock and unlock, or start and complete
//   exposure  a part between post and wait
//
// Shared and exclusive locks are fair enough not to starve an exclusive one: who wants it keeps new shared
// ones out. MPI-4.0, 12.5.
//
// Cost: a lock or unlock that nobody contends is one locked instruction on a line of the target's part.
#pragma once

#include "message/collectives/barrier.h"

namespace tasuki::message {

// MPI_Win_lock of one part. Shared: plain data.
class WindowLock {
 public:
  bool try_shared();
  bool try_exclusive();
  void release_shared() { word_.fetch_sub(1, std::memory_order_release); }
  void release_exclusive() { word_.fetch_and(~(kExclusive | kWanted), std::memory_order_release); }

 private:
  static constexpr uint32_t kExclusive = 1u << 31;
  static constexpr uint32_t kWanted = 1u << 30;  // somebody waits for an exclusive one
  std::atomic<uint32_t> word_{0};                // besides: shared ones
};

// Shared: memory of its rank, which gives it back when all members have left the window.
struct alignas(kLine) WindowPart {
  char* base;
  uint64_t displacement_unit;  // bytes
  uint64_t mapped;             // bytes of the mapping that this part is; 0: malloc'ed
  Barrier* barrier;            // of the first member's part: everybody's
  alignas(kLine) WindowLock lock;
  // Held while elements of this part are updated: makes accumulate operations atomic (MPI-4.0, 12.7.1).
  alignas(kLine) SpinLock updates;
  alignas(kLine) std::atomic<uint32_t> completed;  // accesses of the present exposure that have ended
  // Exposures so far to each member, by index; they follow the structure.
  std::atomic<uint32_t>& exposed(int index) {
    return reinterpret_cast<std::atomic<uint32_t>*>(this + 1)[index];
  }

  static WindowPart* make(int members);  // nullptr when memory is exhausted
  static void free(WindowPart* part);
};

// One task's side of a window. Synchronisation is called by one thread at a time, as MPI demands; parts and
// locks of different targets by several.
class Window {
 public:
  struct Group {
    uint32_t context;  // of the communicator, which all members have in common
    int index;         // of this task
    int count;
    int* slots;  // by index; malloc'ed, the window's from now on
  };

  explicit Window(Engine& engine) : engine_(&engine) {}
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  // Collective: the members show each other their parts. `mine` is nullptr if this one has no memory; then
  // all of them return false, and the window is of no use.
  bool open(const Group& group, WindowPart* mine);
  // Gives back this task's part and `group.slots`. Nobody may be in another call for this window:
  // synchronise() first.
  void close();

  WindowPart& part(int index) const { return *parts_[index]; }
  WindowPart& own_part() const { return part(group_.index); }
  int count() const { return group_.count; }

  // All members have called it.
  void synchronise() {
    enter_barrier(*engine_, *parts_[0]->barrier, group_.index, group_.count, group_.slots);
  }

  void lock_shared(int target);
  void lock_exclusive(int target);
  void unlock_shared(int target);
  void unlock_exclusive(int target);

  void post(int origin);   // this task's part may be accessed once by that one
  void start(int target);  // waits until the target has posted for this task
  void complete(int target);
  // Of the exposure to `origins` members: have all of them completed, and is it over?
  bool test(uint32_t origins);
  void wait(uint32_t origins);

 private:
  void wake_others();

  Engine* engine_;
  Group group_{};
  WindowPart** parts_ = nullptr;  // by index
  uint32_t* started_ = nullptr;   // by index: exposures that this task has used
};

}  // namespace tasuki::message
