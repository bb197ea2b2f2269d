// Guarded tasks are loaded one after the other (Space::turn): while one is loaded nothing else is mapped, so
// it can tell which memory is its own. By raw system calls only: the first to wait is a child of clone().
#pragma once

#include <linux/futex.h>

#include <climits>

#include "os/memory/keys.h"
#include "os/raw.h"
#include "task/space.h"

namespace tasuki::task {

// Until all tasks before this one have been loaded, or have ended.
inline void wait_for_turn(Space* space, uint32_t index) {
  for (uint32_t now; (now = space->turn.load()) < index;)
    os::raw_syscall(SYS_futex, os::raw_arg(&space->turn), FUTEX_WAIT_PRIVATE, now, 0);
}

// Of all threads of a guarded task, from its first instruction on: the keys of other colours are closed.
inline uint32_t rights_of(const TaskSlot& slot) {
  uint32_t rights = 0;
  for (uint32_t i = 0; i < slot.space->colours; i++)
    if (slot.space->keys[i] != slot.key) rights |= os::write_disabled(slot.space->keys[i]);
  return rights;
}

inline bool has_no_turn(Space* space, uint32_t index) {
  const TaskState state = space->tasks()[index].state.load();
  return state == TaskState::empty || state == TaskState::ended;
}

// It is the turn of the next one that will be loaded, if it was that of task `index`: when that one has been
// loaded, and when it has ended, whichever comes first.
inline void give_turn(Space* space, uint32_t index) {
  for (uint32_t now = index; now < space->task_count; now++) {
    if (now != index && !has_no_turn(space, now)) break;
    uint32_t expected = now;
    if (!space->turn.compare_exchange_strong(expected, now + 1)) break;
  }
  os::raw_syscall(SYS_futex, os::raw_arg(&space->turn), FUTEX_WAKE_PRIVATE, INT_MAX);
}

inline void begin_turns(Space* space) {
  if (has_no_turn(space, 0)) give_turn(space, 0);
}

}  // namespace tasuki::task
