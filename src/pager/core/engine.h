// The pager, put together: the program's calls, and the roles that carry them out. From low to high, where
// each knows those before it only:
//
//   Regions      what is allocated
//   Slots        places in the store
//   Transport    transfers between buffers and slots
//   Residency    what is local, and every change of a page's state
//   Swaps        which page comes, and which leaves for it
//   ReadAhead    what comes while nobody waits
//   Forks        children of fork, and ForkedChild, what they have instead of all this
//   FaultLoop    the pager's thread: faults, and all of the above
//   Pins, Advisor, Protector, Withdrawal  what the program asks for by name
//
// Everything but the entry points of Pager, Commands and the names of regions runs by turns (threads/turn.h),
// in the thread of serve() and in threads that serve their own faults, so nothing else needs a lock.
#pragma once

#include "pager/core/advisor.h"
#include "pager/core/fault_loop.h"
#include "pager/core/forked_child.h"
#include "pager/core/pins.h"
#include "pager/core/protector.h"
#include "pager/core/withdrawal.h"

namespace tasuki::pager {

class Engine final : public Pager {
 public:
  Engine(const Options& options, Store* store, std::unique_ptr<Mapper> mapper);

  Result<void*> allocate(size_t bytes, size_t alignment, size_t page_bytes) override;
  Status free(void* p) override;
  Result<void*> reallocate(void* p, size_t bytes) override;
  size_t size_of(const void* p) const override { return regions_.size_of(p); }
  bool touches(const void* p, size_t bytes) const override { return regions_.touches(p, bytes); }

  Status advise(void* p, size_t bytes, Advice advice) override {
    return child_ == nullptr ? advisor_.advise(p, bytes, advice) : Status();
  }
  Status discard(void* p, size_t bytes) override;
  Status protect(void* p, size_t bytes, int protection) override;
  Status let_go(void* p) override;
  int protection(const void* p, size_t bytes) const override {
    return child_ == nullptr ? protector_.protection(p, bytes) : protector_.known(p, bytes);
  }
  size_t pin(const void* p, size_t bytes, bool write) override;
  void unpin(const void* p, size_t bytes) override;
  bool needs_pin() const override { return child_ != nullptr || !mapper_->serves_kernel(); }

  bool before_fork() override;
  bool children_read() const override { return !watching_ || store_->can_read_aside(); }
  void after_fork() override;
  Status after_fork_in_child() override;

  Stats stats() const override;
  std::vector<ThreadStats> thread_stats() const override;
  std::string mechanism() const override { return mapper_->name(); }

  Status serve() override { return loop_.run(); }
  void stop() override { loop_.stop(); }

 private:
  Result<void*> do_allocate(size_t bytes, size_t alignment, size_t page_bytes);
  Status watch(Region* region);
  Status watch_all();
  bool do_free(Region* region);
  bool forget(Region* region);

  const Options options_;
  const std::unique_ptr<Mapper> mapper_;
  const Store* const store_;
  Failure failure_;
  WaitTimes wait_times_;
  os::Wakeup wakeup_;
  Turn turn_;
  mutable Commands commands_;
  Regions regions_;
  Slots slots_;
  Transport transport_;
  Residency residency_;
  Swaps swaps_;
  ReadAhead read_ahead_;
  Forks forks_;
  FaultLoop loop_;
  Pins pins_;
  Advisor advisor_;
  Protector protector_;
  Withdrawal withdrawal_;
  bool watching_ = false;               // from now on all regions are watched
  bool inherits_ = false;               // the child of the fork under way has what is watched
  std::unique_ptr<ForkedChild> child_;  // this process is a forked child, without a pager
};

}  // namespace tasuki::pager
