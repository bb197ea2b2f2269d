// The states of a page and what each event means, without memory, faults or transfers: core/residency does
// what the actions say. A state changes by an event and in no other way; an event that the state does not
// allow is an error of the caller, and a failed assertion in builds that have assertions.
// test/page_state_test.cpp explores every interleaving of these events for a few pages and threads against a
// model of memory.
//
//                 fault: fetch               arrived: map
//     remote ----------------------> arriving -------------> resident <---+
//       ^  ^                                                  |     |     | fault: rescue
//       |  |    reclaim                          victim: send |     |     |
//       |  +------------------------ limbo <------ leaving <--+     |     |
//       |                              ^  sent                      |     |
//       |                              +----------------------------+     |
//     untouched --- fault: zero --> resident     victim: keep       limbo-+
//
// limbo: no longer mapped, its bytes still in a buffer, and the store has them too (or they are still zero):
// free memory for whoever needs it, and back without travelling for whoever faults first.
#pragma once

#include <cassert>
#include <cstdint>

namespace tasuki::pager {

using PageId = uint32_t;  // a page's number, given out by Pages
inline constexpr PageId kNoPage = UINT32_MAX;

enum class State : uint8_t { untouched, remote, arriving, resident, leaving, limbo };

enum class Event : uint8_t {  // each is a function of PageState, where it is explained
  begin,
  found,
  fault,
  prefetch,
  arrived,
  map_writable,
  victim,
  sent,
  reclaim,
  forget_stored,
  join
};

enum class Action : uint8_t {
  none,       // wait for the transfer under way
  zero,       // fill a buffer with zeros and report arrived()
  fetch,      // start the transfer from the store and report arrived()
  map,        // make the page appear, writable if `writable` says so; wakes who waits
  unprotect,  // the page is there, read-only: make it writable; wakes who waits
  wake,       // the page is there: only wake who waits
  send,       // the page has been unmapped: start the transfer to the store and report sent()
  keep,       // the page has been unmapped: nothing travels
  drop,       // the buffer is free
};

class PageState {
 public:
  State state() const { return state_; }
  bool resident() const { return state_ == State::resident; }
  bool under_way() const { return state_ == State::arriving || state_ == State::leaving; }
  bool writable() const { return writable_; }  // mapped so that writes do not fault
  // The local bytes may differ from the store's, or the store has none.
  bool dirty() const { return dirty_; }
  bool stored() const { return stored_; }  // the slots hold the page's bytes as of its last transfer
  bool wanted() const { return wanted_; }  // a fault waits
  bool wanted_write() const { return wanted_write_; }

  bool allows(Event event) const {
    switch (event) {
      case Event::fault:
        return true;
      case Event::found:
        return state_ == State::untouched;
      case Event::begin:
      case Event::prefetch:
        return state_ == State::untouched || state_ == State::remote;
      case Event::arrived:
        return state_ == State::arriving;
      case Event::forget_stored:
        return state_ == State::arriving || state_ == State::resident;
      case Event::map_writable:
      case Event::victim:
      case Event::join:
        return state_ == State::resident;
      case Event::sent:
        return state_ == State::leaving;
      case Event::reclaim:
        return state_ == State::limbo;
    }
    return false;
  }

  // The page has no memory yet, and its state is only whether the store has it.
  void begin(bool stored) {
    check(Event::begin);
    state_ = stored ? State::remote : State::untouched;
    stored_ = stored;
  }

  // The program has used the page since before anybody watched it.
  void found() {
    check(Event::found);
    state_ = State::resident;
    writable_ = dirty_ = true;
  }

  // An access faulted.
  Action fault(bool write) {
    check(Event::fault);
    switch (state_) {
      case State::untouched:
      case State::remote:
        want(write);
        return come();
      case State::arriving:
      case State::leaving:
        want(write);
        return Action::none;
      case State::resident:
        if (!write || writable_) return Action::wake;
        writable_ = dirty_ = true;
        return Action::unprotect;
      case State::limbo:
        want(write);
        return appear();
    }
    return Action::none;
  }

  // Fetch it although nobody asked: as fault(), but nobody waits.
  Action prefetch() {
    check(Event::prefetch);
    return allows(Event::prefetch) ? come() : Action::none;
  }

  // The bytes are in the buffer.
  Action arrived() {
    check(Event::arrived);
    return appear();
  }

  // It is mapped so that writes do not fault, although nobody asked for that.
  void map_writable() {
    check(Event::map_writable);
    writable_ = dirty_ = true;
  }

  // Chosen for eviction and unmapped. `same`: the bytes are known to equal the store's.
  Action victim(bool same) {
    check(Event::victim);
    if (same && stored_) dirty_ = false;
    writable_ = false;
    state_ = dirty_ ? State::leaving : State::limbo;
    return dirty_ ? Action::send : Action::keep;
  }

  // The store has the bytes. map: a fault came meanwhile.
  Action sent() {
    check(Event::sent);
    stored_ = true;
    dirty_ = false;
    state_ = State::limbo;
    return wanted_ ? appear() : Action::keep;
  }

  // Memory is needed: gives up a page in limbo.
  Action reclaim() {
    check(Event::reclaim);
    state_ = stored_ ? State::remote : State::untouched;
    return Action::drop;
  }

  // Its slots are needed elsewhere, or do not hold its bytes any more.
  void forget_stored() {
    check(Event::forget_stored);
    stored_ = false;
    dirty_ = true;
  }

  // From now on the page includes another one, which is resident too.
  void join(const PageState& other) {
    check(Event::join);
    dirty_ = dirty_ || other.dirty_;
    stored_ = stored_ && other.stored_;
  }

 protected:  // for tests, which derive machines that are wrong in one place
  void want(bool write) {
    wanted_ = true;
    wanted_write_ = wanted_write_ || write;
  }

  State state_ = State::untouched;
  bool writable_ = false, dirty_ = false, stored_ = false;
  bool wanted_ = false, wanted_write_ = false;

 private:
  void check([[maybe_unused]] Event event) const { assert(allows(event)); }
  Action come() {
    const bool fetch = state_ == State::remote;
    state_ = State::arriving;
    return fetch ? Action::fetch : Action::zero;
  }
  Action appear() {
    state_ = State::resident;
    writable_ = writable_ || wanted_write_;
    dirty_ = dirty_ || writable_;
    wanted_ = wanted_write_ = false;
    return Action::map;
  }
};

}  // namespace tasuki::pager
