// What threads of the program want done in the pager's thread: they wait until it is. Without that thread,
// before it serves and after, or if there is none, they do it themselves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "os/files/wakeup.h"
#include "pager/threads/turn.h"

namespace tasuki::pager {

class Commands {
 public:
  // False of `work`: it cannot be finished yet and is to be called again; all is given up when the pager's
  // thread ends.
  using Work = std::function<bool()>;

  // enter() and leave(): around what a thread of the program does itself, see Options in pager.h.
  Commands(
      const os::Wakeup* wakeup, Turn* turn, void (*enter)() = [] {}, void (*leave)() = [] {})
      : wakeup_(wakeup), turn_(turn), enter_(enter), leave_(leave) {}

  // Any thread of the program: returns when the work is done.
  void run(const Work& work);
  // There is no thread of the pager's: work that cannot be finished yet can after some calls of this, in the
  // caller's turn. Before all others.
  void serve_by_callers(std::function<void()> progress) { progress_ = std::move(progress); }

  // The pager's thread: from begin() to end() it calls serve() again and again, in its turn. serve() returns
  // whether any work is done.
  void begin();
  bool serve();
  void end();
  // Any thread: work has come since the last serve().
  bool waiting() const { return waiting_.load(std::memory_order_relaxed); }
  // Some work is to be called again.
  bool unfinished() const { return unfinished_; }

 private:
  bool finished_here(const Work& work);
  struct Command {
    const Work& work;
    bool done = false;
  };

  const os::Wakeup* wakeup_;
  Turn* turn_;
  void (*const enter_)();
  void (*const leave_)();
  std::function<void()> progress_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::deque<Command*> commands_;
  std::atomic<bool> waiting_{false};
  bool serving_ = false, ended_ = false;
  bool unfinished_ = false;  // only the pager's thread looks
};

}  // namespace tasuki::pager
