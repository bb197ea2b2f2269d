// The pager's thread: takes the program's faults and serves them, brings what is read ahead, carries commands
// out, and sleeps when there is nothing to do. Where the mapper lets them, threads serve their faults
// themselves (serve_here), as far as nobody else is needed for it; without a thread of the pager's, all of
// them.
#pragma once

#include <atomic>

#include "pager/core/forks.h"
#include "pager/core/read_ahead.h"
#include "pager/core/swaps.h"
#include "pager/threads/catcher.h"
#include "pager/threads/commands.h"

namespace tasuki::pager {

struct Fault {  // and what was decided about it, once, however often it must wait
  os::FaultEvent event;
  double since = 0;
  Sleeper* sleeper = nullptr;  // as Wait's
  bool planned = false, waited = false;
  FetchPlan plan;
};

class FaultLoop final : public FaultServer {
 public:
  struct Roles {  // all outlive the loop
    Mapper* mapper;
    const Regions* regions;
    Residency* residency;
    Transport* transport;
    Swaps* swaps;
    ReadAhead* read_ahead;
    Forks* forks;
    WaitTimes* wait_times;
    Commands* commands;
    Turn* turn;
    const os::Wakeup* wakeup;
    Failure* failure;
  };
  FaultLoop(const Options& options, const Roles& roles);
  ~FaultLoop() { roles_.mapper->serve_by(nullptr); }
  FaultLoop(const FaultLoop&) = delete;
  FaultLoop& operator=(const FaultLoop&) = delete;

  // Serves until stop() or a failure. Afterwards no transfer is under way, unless it failed. Threadless,
  // there is no run(), and it is stop() that leaves no transfer under way.
  Status run();
  void stop();  // any thread

  bool serve_here(const os::FaultEvent& event, const sigset_t& before) override;

  // Takes the turn when nothing is under way, neither a transfer nor a page between two states, for a thread
  // of the program; nothing begins until release(). False: the pager has failed, and the turn is not taken.
  bool hold();
  void release();

  // False: the fault must wait until something else is over.
  bool serve(Fault* fault);
  void forget(const Region& region);

 private:
  bool permitted(const Region& region, uint64_t unit, const os::FaultEvent& event) const;
  size_t next_faults(os::FaultEvent* events, size_t max);
  bool serve_faults();
  enum class Here { not_a_region, served, waits, under_way, places };
  struct Left {  // to the thread that faults
    Sleeper* sleeper = nullptr;
    Residency::Placing placing;
  };
  Here begin_here(const os::FaultEvent& event, double since, int looks, Left* left);
  void place(const Residency::Placing& placing);
  bool serve_at_once(const Region& region, Fault* fault);
  Here go_on_alone(Left* left);
  void progress_alone();
  PageId under_way(const Region& region, const os::FaultEvent& event) const;
  void copy_left();
  bool end_transfers();
  void end();
  bool work();
  bool serve_and_prepare();
  bool quiet() const {
    return roles_.transport->settled() && roles_.transport->pages() == 0 && placing_ == 0;
  }
  bool held() const { return holders_.load(std::memory_order_relaxed) > 0; }
  bool has_waiting() const;
  bool has_work() const;
  void call();
  bool rested();
  void spin();
  struct Rest {
    int transfers = -1;  // can be read when one is over
    int milliseconds = -1;
  };
  Rest plan_rest() const;
  void sleep(const Rest& rest);

  Roles roles_;
  const bool catcher_catches_;
  const bool faults_served_here_;
  const bool threadless_;
  void (*const lost_)(const Status&);
  void (*const enter_)();
  void (*const leave_)();
  const bool copies_here_;  // the thread that faults copies its page itself
  const bool places_here_;  // and puts it in its place, if it is small
  const bool begins_here_;  // the thread that faults asks for its page itself, and the pager's does the rest
  Streams streams_;
  Catcher catcher_;
  OwnDeque<Fault> deferred_;  // that must wait, oldest first
  double idle_since_ = 0;
  std::atomic<bool> stop_{false}, called_{false};
  std::atomic<int> holders_{0};  // threads that wait for hold() or have it
  int placing_ = 0;              // threads that place pages
  int alone_ = 0;                // so many faults are to be served without the pager's thread
  bool asleep_ = false;          // or about to sleep: it must be woken
  uint64_t room_wanted_ = 0;  // units beyond the usual: somebody left it to the pager's thread to make room
  bool ended_ = false;        // the store may be gone: whoever faults now sleeps until the process ends
};

}  // namespace tasuki::pager
