// The pager's thread: takes the program's faults and serves them, brings what is read ahead, carries commands
// out, and sleeps when there is nothing to do.
#pragma once

#include <atomic>
#include <deque>

#include "pager/core/read_ahead.h"
#include "pager/core/swaps.h"
#include "pager/threads/catcher.h"
#include "pager/threads/commands.h"

namespace tasuki::pager {

struct Fault {  // and what was decided about it, once, however often it must wait
  os::FaultEvent event;
  double since = 0;
  bool planned = false, waited = false;
  FetchPlan plan;
};

class FaultLoop {
 public:
  struct Roles {  // all outlive the loop
    Mapper* mapper;
    const Regions* regions;
    Residency* residency;
    Transport* transport;
    Swaps* swaps;
    ReadAhead* read_ahead;
    WaitTimes* wait_times;
    Commands* commands;
    const os::Wakeup* wakeup;
    const Failure* failure;
  };
  FaultLoop(const Options& options, const Roles& roles);

  // Serves until stop() or a failure. Afterwards no transfer is under way, unless it failed.
  Status run();
  void stop();  // any thread

  // False: the fault must wait until something else is over.
  bool serve(Fault* fault);
  void forget(const Region& region);

 private:
  size_t next_faults(os::FaultEvent* events, size_t max);
  bool serve_faults();
  void rest(bool idle);

  Roles roles_;
  const bool catcher_catches_;
  Streams streams_;
  Catcher catcher_;
  std::deque<Fault> deferred_;  // that must wait, oldest first
  double idle_since_ = 0;
  std::atomic<bool> stop_{false};
};

}  // namespace tasuki::pager
