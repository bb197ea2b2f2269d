// The signal by which the kernel tells a thread that it has touched an absent page: SIGSEGV where pages are
// protected, SIGBUS where a userfaultfd sends it. A handler is the process's, so one mapper has it at a time.
//
// What is not the mapper's goes to the handler that was there before. That must have been installed before
// start(), or be kept behind by wrappers of sigaction (cluster/wrappers/faults.h); a thread that blocks the
// signal and faults is ended by the kernel.
#pragma once

#include <csignal>

#include "base/status.h"
#include "os/memory/userfault.h"

namespace tasuki::pager {

class FaultSignal {
 public:
  // Called in the handler by the thread that faulted, perhaps by many at a time. True: the access may be
  // tried again; false: it is not the mapper's. `before`: the signals that the thread had blocked.
  using Serve = bool (*)(const os::FaultEvent& event, const sigset_t& before);
  // Others: handlers of other signals may run on top of this one, and fault themselves.
  enum class Others : bool { run, wait };
  // The handler runs on the thread's alternate stack, if it has one; or on its own one, as such a stack may
  // have 8 KiB only, too little to call an MPI library there.
  enum class Stack : bool { alternate, own };

  FaultSignal() = default;
  ~FaultSignal() { stop(); }
  FaultSignal(const FaultSignal&) = delete;
  FaultSignal& operator=(const FaultSignal&) = delete;

  // EBUSY: another pager of this process has the handler; ENOMEM: no memory for it.
  Status start(int number, Serve serve, Others others, Stack stack = Stack::alternate);
  // In a forked child, for the rest of its life; again in a child of it. EBUSY: its parent's pager had the
  // handler of another signal.
  static Status serve_in_child(int number, Serve serve);
  void stop();

 private:
  bool started_ = false;
};

}  // namespace tasuki::pager
