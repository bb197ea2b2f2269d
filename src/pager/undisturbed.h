#pragma once

#include "os/process/signals.h"

namespace tasuki::pager {

// A thread of the program that holds a lock of the pager. A handler of a signal may come here too (by a
// system call on cluster memory), and would wait for its own thread: signals wait until the lock is free,
// except those that the thread brings about itself.
class Undisturbed : os::SignalsBlocked {
 public:
  Undisturbed() : SignalsBlocked(os::Blocked::all_but_faults) {}
};

}  // namespace tasuki::pager
