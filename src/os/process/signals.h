// The program's signals are not for threads that a library starts: handlers would run there, and a handler
// that waits for what such a thread does (a page, a transfer) would wait for itself. A thread begins with the
// mask of the one that makes it: it has to be blocked there, since a new thread that blocks signals itself
// may get one before.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace tasuki::os {

// What a thread brings about itself: blocked, these would end the program without a word.
inline constexpr int kFaultSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

// From now on the calling thread blocks these and no others. Async-signal-safe.
inline void block_only(const sigset_t& set) {
  pthread_sigmask(SIG_SETMASK, &set, nullptr);
}

enum class Blocked { all, all_but_faults };

// Blocks signals of the calling thread for as long as it lives. Async-signal-safe.
class SignalsBlocked {
 public:
  explicit SignalsBlocked(Blocked which = Blocked::all) {
    sigset_t set;
    sigfillset(&set);
    if (which == Blocked::all_but_faults)
      for (const int number : kFaultSignals) sigdelset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  const sigset_t& before() const { return before_; }  // what was blocked already
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace tasuki::os
