// The records of the pages that have local memory or are about to: Pages gives them out, takes them back, and
// knows which units belong to which. What a record says is changed by Residency alone, which owns the Pages;
// everybody else sees it const.
#pragma once

#include <atomic>
#include <new>

#include "os/process/futex.h"
#include "pager/mappers/mapper.h"
#include "pager/own_memory.h"
#include "pager/pages/fingerprint.h"
#include "pager/pages/page_state.h"
#include "pager/pages/regions.h"

namespace tasuki::pager {

// A thread that sleeps in a handler until its fault is served. Not on that thread's stack: a handler of the
// program's may leave it by longjmp. What both have let go of is given back.
class Sleeper {
 public:
  static Sleeper* create() { return new (take_own_memory(sizeof(Sleeper))) Sleeper; }
  // By the pager, once.
  void wake() {
    served_.store(1, std::memory_order_release);
    os::futex_wake(&served_, 1);
    let_go();
  }
  // By the thread.
  bool served() const { return served_.load(std::memory_order_acquire) != 0; }
  void sleep() {
    t_sleeping = this;
    while (!served()) os::futex_wait(&served_, 0);
    t_sleeping = nullptr;
  }
  // In a forked child: its thread has come here by a handler of a signal that has interrupted its sleep, and
  // will try its access again.
  static void end_sleep() {
    if (t_sleeping != nullptr) t_sleeping->served_.store(1);
  }
  void let_go() {
    if (owners_.fetch_sub(1) == 1) give_own_memory(this, sizeof *this);
  }

 private:
  Sleeper() = default;
  static constinit thread_local Sleeper* t_sleeping __attribute__((tls_model("initial-exec")));
  std::atomic<uint32_t> served_{0}, owners_{2};
};

struct Wait {  // of a thread in a fault
  int thread = 0;
  double since = 0;
  Sleeper* sleeper = nullptr;

  void end() const {
    if (sleeper != nullptr) sleeper->wake();
  }
};

struct Page {
  Region* region = nullptr;  // nullptr: no page has this record
  uint64_t first = 0;
  uint32_t units = 0;
  PageState state;
  bool predicted_write = false;
  bool unmapped = false;  // the pieces came from Mapper::unmap
  Fingerprint sent;       // of the bytes that the store has
  Pieces pieces;          // arriving, leaving, limbo: where the bytes are
  OwnVector<Wait> waits;

  std::byte* at() const { return region->address(first); }
  uint64_t end() const { return first + units; }
};

class Pages {
 public:
  // From now on the units of the region can have pages.
  static void watch(Region* region) { region->page_.assign(region->units(), kNoPage); }

  // A page for units that have none. References to pages stay valid until their page ends.
  PageId begin(Region* region, uint64_t first, uint32_t units);
  void end(PageId id);
  // The units of the page that follows this one become this one's; the other page ends.
  void join(PageId id, PageId next);
  // The units of a resident page from this one on become a page of their own, in the same state.
  PageId split(PageId id, uint64_t unit);

  Page& operator[](PageId id) { return pages_[id]; }
  const Page& operator[](PageId id) const { return pages_[id]; }
  size_t records() const { return pages_.size(); }
  size_t alive() const { return pages_.size() - free_.size(); }

 private:
  OwnDeque<Page> pages_;
  OwnVector<PageId> free_;
};

}  // namespace tasuki::pager
