// The states of a page and what each event means, without memory, faults or transfers: the engine does what
// the actions say. test/page_state_test.cpp explores every interleaving of these events for a few pages and
// threads against a model of memory.
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
// limbo: no longer mapped, its bytes still in a buffer, and the store has them too (or they are still zero): free
// memory for whoever needs it, and back without travelling for whoever faults first.
#pragma once

#include <cstdint>

namespace tasuki::pager {

enum class State : uint8_t { untouched, remote, arriving, resident, leaving, limbo };

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

struct PageState {
  State state = State::untouched;
  bool writable = false;  // mapped so that writes do not fault
  bool dirty = false;     // the local bytes may differ from the store's, or the store has none
  bool stored = false;    // the slots hold the page's bytes as of its last transfer
  bool wanted = false;    // a fault waits
  bool wanted_write = false;

  // An access faulted. `protect` of map actions: see arrived().
  Action fault(bool write) {
    switch (state) {
      case State::untouched:
      case State::remote: {
        const bool fetch = state == State::remote;
        state = State::arriving;
        want(write);
        return fetch ? Action::fetch : Action::zero;
      }
      case State::arriving:
      case State::leaving:
        want(write);
        return Action::none;
      case State::resident:
        if (!write || writable) return Action::wake;
        writable = dirty = true;
        return Action::unprotect;
      case State::limbo:
        want(write);
        return appear();
    }
    return Action::none;
  }

  // Fetch it although nobody asked: as fault(), but nobody waits.
  Action prefetch() {
    if (state != State::untouched && state != State::remote) return Action::none;
    const bool fetch = state == State::remote;
    state = State::arriving;
    return fetch ? Action::fetch : Action::zero;
  }

  // The bytes are in the buffer.
  Action arrived() { return appear(); }

  // Chosen for eviction and unmapped. `same`: the bytes are known to equal the store's.
  Action victim(bool same) {
    if (same && stored) dirty = false;
    writable = false;
    state = dirty ? State::leaving : State::limbo;
    return dirty ? Action::send : Action::keep;
  }

  // The store has the bytes. map: a fault came meanwhile.
  Action sent() {
    stored = true;
    dirty = false;
    state = State::limbo;
    return wanted ? appear() : Action::keep;
  }

  // Memory is needed: gives up a page in limbo.
  Action reclaim() {
    state = stored ? State::remote : State::untouched;
    return Action::drop;
  }

  // Its slots are needed elsewhere; only while resident.
  void forget_stored() {
    stored = false;
    dirty = true;
  }

 private:
  void want(bool write) {
    wanted = true;
    wanted_write = wanted_write || write;
  }
  Action appear() {
    state = State::resident;
    writable = writable || wanted_write;
    dirty = dirty || writable;
    wanted = wanted_write = false;
    return Action::map;
  }
};

}  // namespace tasuki::pager
