#include "pager/core/fault_loop.h"

#include <utility>

#include "base/cpu.h"
#include "os/clock.h"
#include "os/files/streams.h"
#include "os/process/cpu.h"
#include "os/process/signals.h"
#include "os/process/thread.h"

namespace tasuki::pager {
namespace {

// How long the loop looks for the next fault before it sleeps: a woken thread costs the program more than
// that.
constexpr double kSpin = 50e-6;
// And for a transfer that it will hear of: a fast disk takes 60 to 100 us for a page, and to wake the
// thread takes another 30 to 100 (a random read 154 to 167 us instead of 187, a noisy disk).
constexpr double kSpinForTransfers = 200e-6;
// Of larger pages a thread that serves itself leaves it to the pager's to make room: in the time of the copy
// that one can be woken. A smaller one leaves faster than another core can be interrupted.
constexpr uint32_t kRoomBeside = 8;
constexpr uint64_t kPagesBeside = 4;  // so many are on their way while another one is used
// How often a thread that needs the pager's looks whether its page is there before it sleeps: some 20 us.
constexpr int kLooks = 500;
// How often it looks whether the copy of its page that the pager's thread makes is over, and what it does in
// between: some 400 us in all; a copy of 1 MiB takes 130, to slots that are new 500.
constexpr int kLooksAtCopy = 200, kPause = 50;
// Where that is too short, the pager's thread does not get a core at once: so many faults are served without
// it.
constexpr int kAlone = 256;
// Steps of a turn, where threads of the program do all the work.
constexpr int kStepsAlone = 64;
// How often a thread that forks lets faults that wait go first.
constexpr int kPatience = 100;
// What waits for something else than a transfer (a pinned page) is tried again so soon.
constexpr int kLookAgainMilliseconds = 1;

}  // namespace

FaultLoop::FaultLoop(const Options& options, const Roles& roles)
    : roles_(roles),
      catcher_catches_(options.protocol == Protocol::as2),
      faults_served_here_(roles.mapper->serve_by(this)),
      threadless_(options.threadless),
      lost_(options.lost),
      enter_(options.enter),
      leave_(options.leave),
      copies_here_(faults_served_here_ && roles.transport->direct() && !threadless_),
      places_here_(copies_here_ && options.protocol == Protocol::ahead),
      begins_here_(faults_served_here_ && !copies_here_ && options.protocol == Protocol::as1),
      streams_(options.protocol == Protocol::ahead ? options.prefetch : Prefetch::off,
               options.local_bytes / unit_size()),
      catcher_(roles.mapper, roles.wakeup) {
  if (threadless_) roles_.commands->serve_by_callers([this] { progress_alone(); });
}

bool FaultLoop::serve(Fault* fault) {
  const os::FaultEvent& event = fault->event;
  const auto* address = reinterpret_cast<std::byte*>(event.address);
  Region* region = roles_.regions->of(address);
  if (region == nullptr || !region->watched()) {  // freed meanwhile: the program's own mistake
    roles_.mapper->wake(reinterpret_cast<std::byte*>(event.address & ~(unit_size() - 1)), 1);
    if (fault->sleeper != nullptr) fault->sleeper->wake();
    return true;
  }
  const uint64_t unit = region->unit_of(address);
  if (!permitted(*region, unit, event)) {
    roles_.mapper->refuse(event);
    if (fault->sleeper != nullptr) fault->sleeper->wake();
    return true;
  }
  if (fault->waited) {
    const double now = os::monotonic_seconds();
    roles_.wait_times->waited_for_previous(now - fault->since);
    fault->since = now;
  }
  fault->waited = true;
  const Wait wait{event.thread, fault->since, fault->sleeper};
  if (const PageId id = region->page(unit); id != kNoPage) {
    if (roles_.residency->state(id) == State::arriving && alone_ == 0)
      roles_.read_ahead->follow(*region, streams_.awaited(region->id(), *region->locality(), unit));
    const Action action = roles_.residency->fault(*region, unit, event.write, &wait);
    if (action == Action::unprotect)
      streams_.written(region->id(), region->locality(), roles_.residency->page(region->page(unit)).first);
    if (action == Action::unprotect || action == Action::wake) wait.end();
    return true;
  }
  if (held() || roles_.swaps->blocked()) return false;
  if (!fault->planned) fault->plan = streams_.fault(region->id(), region->locality(), unit, event.write);
  fault->planned = true;
  if (!roles_.swaps->bring(region, unit, fault->plan, event.write, &wait)) return false;
  if (alone_ == 0) roles_.read_ahead->follow(*region, fault->plan);
  return true;
}

// The program may have changed that since. Who may execute or write may read, as on the processor, which
// looks whether it may execute only when the page is there.
bool FaultLoop::permitted(const Region& region, uint64_t unit, const os::FaultEvent& event) const {
  const int protection = roles_.residency->protection(region, unit);
  const PageId id = region.page(unit);
  if (event.execute && id != kNoPage && roles_.residency->page(id).state.resident())
    return (protection & Protections::kExecute) != 0;
  return event.write ? (protection & Protections::kWrite) != 0 : protection != Protections::kNone;
}

void FaultLoop::forget(const Region& region) {
  streams_.forget(region.id());
}

size_t FaultLoop::next_faults(os::FaultEvent* events, size_t max) {
  return catcher_catches_ ? catcher_.faults(events, max) : roles_.mapper->faults(events, max);
}

bool FaultLoop::serve_faults() {
  bool any = false;
  for (size_t n = deferred_.size(); n > 0; n--) {
    Fault waiting = deferred_.front();
    deferred_.pop_front();
    if (serve(&waiting))
      any = true;
    else
      deferred_.push_back(waiting);
  }
  os::FaultEvent events[16];
  const size_t n = next_faults(events, 16);
  const double now = n > 0 ? os::monotonic_seconds() : 0;
  for (size_t i = 0; i < n; i++) {
    roles_.wait_times->fault(events[i].thread);
    Fault fault;
    fault.event = events[i];
    fault.since = now;
    if (!serve(&fault)) deferred_.push_back(fault);
  }
  return any || n > 0;
}

// In the thread that faulted. Nothing here may wait for another thread of the program, which may be the one
// that this handler has interrupted.
bool FaultLoop::serve_here(const os::FaultEvent& event, const sigset_t& before) {
  Left left;
  Here here;
  {
    const os::NoCancellation whole;  // the store writes files
    enter_();
    const double now = os::monotonic_seconds();
    for (int looks = 0; (here = begin_here(event, now, looks, &left)) == Here::under_way; looks++)
      for (int i = 0; i < kPause; i++) cpu_relax();
    if (here == Here::places) place(left.placing);
    leave_();
  }
  if (here != Here::waits) return here != Here::not_a_region;
  Sleeper* const sleeper = left.sleeper;
  for (int i = 0; i < kLooks && !sleeper->served(); i++) cpu_relax();
  os::block_only(before);  // this may take long
  sleeper->sleep();
  const os::SignalsBlocked alone;
  sleeper->let_go();
  return true;
}

// `looks`: how often this was asked before.
FaultLoop::Here FaultLoop::begin_here(const os::FaultEvent& event, double since, int looks, Left* left) {
  const Turn::Urgent turn(roles_.turn);
  if (threadless_ && left->sleeper != nullptr) return go_on_alone(left);
  const Region* region = roles_.regions->of(reinterpret_cast<std::byte*>(event.address));
  if (region == nullptr) {
    const bool lately = roles_.regions->left_lately(reinterpret_cast<std::byte*>(event.address), since);
    return lately ? Here::served : Here::not_a_region;
  }
  if (!region->watched()) return Here::served;  // it could not be watched, and is ordinary memory again
  Fault fault;
  fault.event = event;
  fault.since = since;
  if (!ended_) {
    if (looks == 0) roles_.wait_times->fault(event.thread);
    if (threadless_) {
      fault.sleeper = left->sleeper = Sleeper::create();
      deferred_.push_back(fault);
      return go_on_alone(left);
    }
    if (serve_at_once(*region, &fault)) {
      if (has_work()) call();
      left->placing = roles_.residency->take_placing();
      if (left->placing.id == kNoPage) return Here::served;
      placing_++;
      return Here::places;
    }
    if (const PageId page = under_way(*region, event); copies_here_ && page != kNoPage) {
      if (looks == 0) roles_.residency->want(page, event.write);
      if (looks < kLooksAtCopy) return Here::under_way;
      alone_ = kAlone;
    }
  }
  fault.sleeper = left->sleeper = Sleeper::create();
  if (ended_ || !begins_here_ || !deferred_.empty() || !serve(&fault)) deferred_.push_back(fault);
  call();
  return Here::waits;
}

// Some of what the fault needs. Others must have their turns between: the page may have to wait for one of
// them.
FaultLoop::Here FaultLoop::go_on_alone(Left* left) {
  for (int i = 0; i < kStepsAlone && !held() && !left->sleeper->served(); i++) progress_alone();
  if (!left->sleeper->served()) return Here::under_way;
  std::exchange(left->sleeper, nullptr)->let_go();
  return Here::served;
}

void FaultLoop::progress_alone() {
  serve_and_prepare();
  if (!roles_.failure->ok()) lost_(roles_.failure->status());
}

// The bytes travel while others have their turns.
void FaultLoop::place(const Residency::Placing& placing) {
  const Status status = roles_.mapper->place(placing.at, placing.from, placing.units, placing.writable);
  const Turn::Urgent turn(roles_.turn);
  placing_--;
  if (!status.ok()) return roles_.failure->report(status);
  roles_.residency->placed(placing);
  if (has_work()) call();
}

// Where transfers are copies that are over when they return. False: something else must be over first.
bool FaultLoop::serve_at_once(const Region& region, Fault* fault) {
  if (!roles_.transport->direct() || !deferred_.empty()) return false;
  const auto collect = [&] {
    while (roles_.swaps->collect()) {
    }
  };
  collect();
  roles_.residency->leave_placing(places_here_);
  const bool begun = under_way(region, fault->event) == kNoPage && serve(fault);
  roles_.residency->leave_placing(false);
  if (!begun) return false;
  collect();
  const bool beside = fault->plan.units >= kRoomBeside && alone_ == 0;
  if (alone_ > 0) alone_--;
  room_wanted_ = beside ? kPagesBeside * fault->plan.units : 0;
  if (room_wanted_ == 0 && roles_.swaps->keep_room(roles_.regions->units())) collect();
  return roles_.failure->ok();
}

// The page, if another thread copies it, in or out.
PageId FaultLoop::under_way(const Region& region, const os::FaultEvent& event) const {
  const PageId id = region.page(region.unit_of(reinterpret_cast<std::byte*>(event.address)));
  const bool moves = id != kNoPage && roles_.residency->page(id).state.under_way();
  return moves ? id : kNoPage;
}

// Copies what work() has begun to fetch and to send, while others have their turns.
void FaultLoop::copy_left() {
  const Status status = roles_.transport->copy_left();
  if (status.ok()) return;
  const std::lock_guard turn(*roles_.turn);
  roles_.failure->report(status);
}

bool FaultLoop::hold() {
  // Threads that fork again and again leave something to those that fault.
  for (int i = 0; i < kPatience; i++) {
    const std::lock_guard turn(*roles_.turn);
    if (deferred_.empty()) break;
  }
  holders_.fetch_add(1, std::memory_order_relaxed);
  for (;; os::cpu_yield()) {
    roles_.turn->lock();
    if (!roles_.failure->ok()) break;
    if (quiet()) return true;
    if (threadless_)
      progress_alone();
    else
      call();
    roles_.turn->unlock();
  }
  holders_.fetch_sub(1, std::memory_order_relaxed);
  roles_.turn->unlock();
  return false;
}

void FaultLoop::release() {
  holders_.fetch_sub(1, std::memory_order_relaxed);
  call();
  roles_.turn->unlock();
}

// Something begun that cannot go on at the moment.
bool FaultLoop::has_waiting() const {
  return !deferred_.empty() || !roles_.read_ahead->empty() || roles_.commands->unfinished();
}

// Something that the pager's thread does while nobody faults. What waits for transfers is not, where the
// store tells when one is over.
bool FaultLoop::has_work() const {
  return room_wanted_ > 0 ||
         ((!roles_.transport->idle() || has_waiting()) && roles_.transport->descriptor() < 0);
}

bool FaultLoop::work() {
  // These make room and use it in one turn, or others take it away again and again.
  const bool any = roles_.commands->serve();
  roles_.transport->leave_copies(copies_here_);
  const bool more = serve_and_prepare();
  roles_.transport->leave_copies(false);
  return any || more;
}

bool FaultLoop::serve_and_prepare() {
  bool any = serve_faults();
  any = (roles_.forks->descendants() && roles_.forks->look(os::monotonic_seconds())) || any;
  any = roles_.swaps->progress() || any;
  if (held()) return any;  // what is under way comes to its end
  any = (deferred_.empty() && roles_.read_ahead->step()) || any;
  if (copies_here_ && room_wanted_ == 0) return any;
  if (roles_.swaps->keep_room(roles_.regions->units(), room_wanted_)) return true;
  room_wanted_ = 0;
  return any;
}

// The pager's thread is to do something. Whose turn it is.
void FaultLoop::call() {
  called_.store(true, std::memory_order_relaxed);
  if (asleep_) roles_.wakeup->wake();
  asleep_ = false;
}

// True: nothing has come for so long that it is time to sleep.
bool FaultLoop::rested() {
  const double now = os::monotonic_seconds();
  if (idle_since_ == 0) idle_since_ = now;
  return now - idle_since_ >= (roles_.transport->idle() ? kSpin : kSpinForTransfers);
}

// Until it is time to sleep, or to look again: threads that serve themselves call, and need the turn.
void FaultLoop::spin() {
  if (!copies_here_) return;
  while (!called_.load(std::memory_order_relaxed) && !stop_.load(std::memory_order_relaxed) &&
         !roles_.commands->waiting() && !rested())
    cpu_relax();
}

// Until what, and for how long at most. Whose turn it is.
FaultLoop::Rest FaultLoop::plan_rest() const {
  int longest = has_waiting() ? kLookAgainMilliseconds : roles_.transport->longest_rest_ms();
  if (roles_.forks->descendants() && longest < 0) longest = static_cast<int>(Forks::kLookSeconds * 1000);
  return {roles_.transport->descriptor(), longest};
}

void FaultLoop::sleep(const Rest& rest) {
  // stop() may have come just before Commands::serve() took the event, and would not be heard again.
  if (stop_.load()) return;
  os::Awaited awaited[3] = {os::Awaited(roles_.wakeup->descriptor()), os::Awaited(rest.transfers),
                            os::Awaited(roles_.mapper->descriptor())};
  os::wait_for(awaited, catcher_catches_ ? 2 : 3, rest.milliseconds);
}

// False: threads of the program place pages yet.
bool FaultLoop::end_transfers() {
  const std::lock_guard turn(*roles_.turn);
  while (roles_.failure->ok() && !roles_.transport->settled()) roles_.swaps->progress();
  ended_ = true;
  return !roles_.failure->ok() || placing_ == 0;
}

Status FaultLoop::run() {
  roles_.commands->begin();
  if (catcher_catches_) catcher_.start();
  while (!stop_.load(std::memory_order_relaxed)) {
    bool idle, sleeps;
    Rest rest;
    {
      const std::lock_guard turn(*roles_.turn);
      if (!roles_.failure->ok()) break;
      called_.store(false, std::memory_order_relaxed);
      idle = !work() && !has_work();
      if (!roles_.failure->ok()) break;  // nothing may be under way that would wake this thread again
      if (!idle) idle_since_ = 0;
      sleeps = asleep_ = idle && rested();
      if (sleeps) rest = plan_rest();
    }
    if (sleeps)
      sleep(rest);
    else if (idle)
      spin();
    else
      copy_left();
  }
  catcher_.stop();
  end();
  return roles_.failure->status();
}

// The store outlives the pager: it must have no transfer from or to memory that will be gone.
void FaultLoop::end() {
  while (!end_transfers()) os::cpu_yield();
  roles_.commands->end();
}

void FaultLoop::stop() {
  stop_.store(true);
  roles_.wakeup->wake();
  if (threadless_) end();
}

}  // namespace tasuki::pager
