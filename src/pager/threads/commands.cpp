#include "pager/threads/commands.h"

#include "os/process/cpu.h"
#include "os/process/thread.h"
#include "pager/undisturbed.h"

namespace tasuki::pager {

// The work itself calls the system, whose functions may be replaced (an MPI library that looks at madvise,
// and comes to our own wrappers): those must know that it is the pager.
bool Commands::finished_here(const Work& work) {
  struct Inside {
    explicit Inside(const Commands& commands) : leave(commands.leave_) { commands.enter_(); }
    ~Inside() { leave(); }
    void (*const leave)();
  };
  const Inside inside(*this);
  const std::lock_guard turn(*turn_);
  const bool finished = work() || ended_;
  if (!finished && progress_) progress_();
  return finished;
}

void Commands::run(const Work& work) {
  const os::NoCancellation complete;  // others refer to what is on this stack
  const Undisturbed undisturbed;
  std::unique_lock lock(mutex_);
  // Others have their turns between, as the work may have to wait for them.
  for (; !serving_; os::cpu_yield()) {
    if (finished_here(work)) return;
    if (!progress_) break;
  }
  Command command{work};
  commands_.push_back(&command);
  waiting_.store(true, std::memory_order_relaxed);
  wakeup_->wake();
  done_.wait(lock, [&] { return command.done; });
}

void Commands::begin() {
  const std::lock_guard lock(mutex_);
  serving_ = true;
}

bool Commands::serve() {
  if (!wakeup_->clear() && !unfinished_) return false;
  waiting_.store(false, std::memory_order_relaxed);
  std::unique_lock lock(mutex_);
  bool any = false;
  std::deque<Command*> again;
  while (!commands_.empty()) {
    Command* command = commands_.front();
    commands_.pop_front();
    lock.unlock();
    const bool done = command->work();
    lock.lock();
    if (done) {
      command->done = true;
      any = true;
    } else {
      again.push_back(command);
    }
  }
  commands_ = std::move(again);
  unfinished_ = !commands_.empty();
  if (any) done_.notify_all();
  return any;
}

// Whoever came last, and who still waits for progress that there is none of any more.
void Commands::end() {
  const std::lock_guard lock(mutex_);
  serving_ = false;
  ended_ = true;
  const std::lock_guard turn(*turn_);
  for (Command* command : std::exchange(commands_, {})) {
    command->work();
    command->done = true;
  }
  done_.notify_all();
}

}  // namespace tasuki::pager
