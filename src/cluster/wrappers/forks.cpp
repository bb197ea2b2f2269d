#include "cluster/wrappers/forks.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>

#include "base/log.h"
#include "cluster/wrappers/descriptors.h"
#include "cluster/wrappers/faults.h"
#include "cluster/wrappers/pinning.h"
#include "generated/next.h"
#include "os/memory/mapping.h"
#include "pager/pager.h"

// glibc's, of the list of all streams. fork takes it when it has called the handlers, and who has it may wait
// for a page: for the lock of a stream whose owner writes from there. In the child fork makes it new only if
// there were several threads.
extern "C" void _IO_list_lock();
extern "C" void _IO_list_unlock();
extern "C" void _IO_list_resetlock();

extern "C" __attribute__((visibility("hidden"))) void* __dso_handle;

namespace tasuki::cluster {
namespace {

constinit ForkHooks g_hooks = {[] {}, [] {}, [](bool) {}};

// Of the thread that forks.
thread_local pager::Pager* t_pager = nullptr;  // whose memory the child will have
thread_local sigset_t t_signals;               // blocked before

void mask(int how, const sigset_t& set, sigset_t* before = nullptr) {
  next_pthread_sigmask()(how, &set, before);
}

void before() {
  sigset_t all;
  sigfillset(&all);
  mask(SIG_SETMASK, all, &t_signals);
  t_pager = t_internal == 0 ? attached_pager() : nullptr;  // the pager does not wait for itself
  t_internal++;
  if (t_pager != nullptr) {
    _IO_list_lock();
    if (!t_pager->before_fork()) {
      _IO_list_unlock();
      t_pager = nullptr;
    }
  }
  g_hooks.before();
}

void in_parent() {
  g_hooks.in_parent();
  if (t_pager != nullptr) {
    t_pager->after_fork();
    _IO_list_unlock();
  }
  t_internal--;
  mask(SIG_SETMASK, t_signals);
}

// SIGBUS is the pager's from now on, which the parent may not have known: no handler of another signal blocks
// it, and there is a stack for it although the thread's own may be cluster memory.
void let_faults_through() {
  for (int number = 1; number < NSIG; number++) {
    struct sigaction action;
    if (next_sigaction()(number, nullptr, &action) != 0 || sigismember(&action.sa_mask, SIGBUS) != 1)
      continue;
    sigdelset(&action.sa_mask, SIGBUS);
    next_sigaction()(number, &action, nullptr);
  }
  constexpr size_t kStack = 64 << 10;
  stack_t stack;
  if (sigaltstack(nullptr, &stack) != 0) return;
  if ((stack.ss_flags & SS_DISABLE) == 0) {
    // The kernel must be able to write there. What has come to a child stays.
    if (touches(stack.ss_sp, stack.ss_size)) t_pager->pin(stack.ss_sp, stack.ss_size, true);
    return;
  }
  stack = {.ss_sp = os::map_memory(kStack), .ss_flags = 0, .ss_size = kStack};
  if (stack.ss_sp != nullptr) sigaltstack(&stack, nullptr);
}

void in_child() {
  bool has_memory = t_pager != nullptr;
  if (has_memory) {
    _IO_list_resetlock();
    before_pager_handler();
    Status status;
    {
      const PagersDescriptors its;
      status = t_pager->after_fork_in_child();
    }
    after_pager_handler();
    has_memory = status.ok();
    if (!has_memory)
      log(LogLevel::warning, "a forked child has no cluster memory: %s", status.message().c_str());
  }
  in_forked_child();
  if (has_memory) {
    guard_all();
    let_faults_through();
  } else {
    detach_pager();
  }
  g_hooks.in_child(has_memory);
  t_internal--;
  sigset_t signals = t_signals;
  if (has_memory) sigdelset(&signals, SIGBUS);
  mask(SIG_SETMASK, signals);
}

// Before everybody else's, constructors of libraries among them: the handlers of others then run before ours
// where ours stops the pager, and after it where ours gives the child its memory. They may use cluster
// memory.
void register_handlers() {
  static std::atomic<bool> done{false};
  if (!done.exchange(true)) next___register_atfork()(before, in_parent, in_child, &__dso_handle);
}
[[gnu::constructor(101)]] void register_without_others() {
  register_handlers();
}

}  // namespace

void set_fork_hooks(const ForkHooks& hooks) {
  g_hooks = hooks;
}

}  // namespace tasuki::cluster

// What pthread_atfork calls.
TASUKI_WRAPPER(int, __register_atfork, void (*prepare)(), void (*parent)(), void (*child)(), void* library) {
  tasuki::cluster::register_handlers();
  return tasuki::cluster::next___register_atfork()(prepare, parent, child, library);
}
