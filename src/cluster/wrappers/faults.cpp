#include "cluster/wrappers/faults.h"

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "cluster/wrappers/pinning.h"
#include "generated/next.h"

namespace tasuki::cluster {
namespace {

std::atomic<bool> g_busy{false};
struct Caught {
  int number;
  std::atomic<bool> by_pager{false};
  struct sigaction program = {};  // what the program has installed, under g_busy
};
Caught g_caught[] = {{.number = SIGSEGV}, {.number = SIGBUS}};  // the pager catches one of them, or none

bool is_ours(const Caught& c) {
  return c.by_pager.load(std::memory_order_relaxed) && t_internal == 0;
}
// nullptr: it is not one of those.
Caught* record_of(int number) {
  for (Caught& c : g_caught)
    if (c.number == number) return &c;
  return nullptr;
}
// nullptr: it is not the pager's.
Caught* ours(int number) {
  Caught* const c = record_of(number);
  return c != nullptr && is_ours(*c) ? c : nullptr;
}

// Not a mutex: sigaction may be called in signal handlers. Signals wait meanwhile.
struct sigaction exchange(Caught* caught, const struct sigaction* action) {
  struct sigaction fresh = {};
  if (action != nullptr) fresh = *action;  // it may be away, and signals are blocked below
  sigset_t all, before;
  sigfillset(&all);
  next_pthread_sigmask()(SIG_SETMASK, &all, &before);
  while (g_busy.exchange(true, std::memory_order_acquire)) {
  }
  const struct sigaction old = caught->program;
  if (action != nullptr) caught->program = fresh;
  g_busy.store(false, std::memory_order_release);
  next_pthread_sigmask()(SIG_SETMASK, &before, nullptr);
  return old;
}

// A signal that is not the pager's: as it would be without it.
void on_program_fault(int number, siginfo_t* info, void* context) {
  Caught* const caught = record_of(number);
  const struct sigaction program = exchange(caught, nullptr);
  const bool with_info = (program.sa_flags & SA_SIGINFO) != 0;
  const bool sent = info->si_code <= 0;  // by kill, raise, sigqueue
  if (!with_info && program.sa_handler == SIG_IGN && sent) return;
  if (!with_info && (program.sa_handler == SIG_DFL || program.sa_handler == SIG_IGN)) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    next_sigaction()(number, &action, nullptr);
    if (sent) raise(number);
    return;  // the access faults again
  }
  if ((program.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    exchange(caught, &action);
  }
  sigset_t mask = program.sa_mask, before;
  sigdelset(&mask, number);
  next_pthread_sigmask()(SIG_BLOCK, &mask, &before);
  if (with_info)
    program.sa_sigaction(number, info, context);
  else
    program.sa_handler(number);
  next_pthread_sigmask()(SIG_SETMASK, &before, nullptr);
}

// The same of BSD's masks.
int never_blocked(int mask) {
  for (const Caught& c : g_caught)
    if (is_ours(c)) mask &= ~(1 << (c.number - 1));
  return mask;
}

sighandler_t install(Caught* caught, sighandler_t handler, int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return exchange(caught, &action).sa_handler;
}

}  // namespace

const sigset_t* never_blocked(const sigset_t* set, sigset_t* room) {
  for (const Caught& c : g_caught) {
    if (set == nullptr || !is_ours(c) || sigismember(set, c.number) != 1) continue;
    *room = *set;
    sigdelset(room, c.number);
    set = room;
  }
  return set;
}

void before_pager_handler() {
  g_busy.store(false);  // a forked child: by a thread that it does not have
  for (Caught& c : g_caught) {
    if (c.by_pager.load()) continue;  // in a forked child, from its parent
    struct sigaction action = {};
    action.sa_sigaction = on_program_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    next_sigaction()(c.number, &action, &c.program);
  }
}

void after_pager_handler() {
  for (Caught& c : g_caught) {
    if (c.by_pager.load()) continue;
    struct sigaction now;
    next_sigaction()(c.number, nullptr, &now);
    if (now.sa_sigaction == on_program_fault)
      next_sigaction()(c.number, &c.program, nullptr);
    else
      c.by_pager.store(true);
  }
}

void pager_handler_is_gone() {
  for (Caught& c : g_caught) {
    if (!c.by_pager.exchange(false)) continue;
    const struct sigaction program = exchange(&c, nullptr);
    next_sigaction()(c.number, &program, nullptr);
  }
}

}  // namespace tasuki::cluster

using namespace tasuki::cluster;

TASUKI_WRAPPER(int, sigaction, int number, const struct sigaction* action, struct sigaction* old) {
  if (Caught* caught = ours(number)) {
    const struct sigaction before = exchange(caught, action);
    if (old != nullptr) *old = before;
    return 0;
  }
  struct sigaction changed;
  if (action != nullptr) {
    changed = *action;
    const sigset_t* mask = never_blocked(&action->sa_mask, &changed.sa_mask);
    if (mask != &action->sa_mask) action = &changed;
  }
  return next_sigaction()(number, action, old);
}

TASUKI_WRAPPER(sighandler_t, signal, int number, sighandler_t handler) {
  Caught* caught = ours(number);
  return caught != nullptr ? install(caught, handler, SA_RESTART) : next_signal()(number, handler);
}
TASUKI_WRAPPER(sighandler_t, bsd_signal, int number, sighandler_t handler) {
  return signal(number, handler);
}
TASUKI_WRAPPER(sighandler_t, ssignal, int number, sighandler_t handler) {
  return signal(number, handler);
}
TASUKI_WRAPPER(sighandler_t, __sysv_signal, int number, sighandler_t handler) {
  Caught* caught = ours(number);
  if (caught == nullptr) return next___sysv_signal()(number, handler);
  return install(caught, handler, static_cast<int>(SA_RESETHAND) | SA_NODEFER);
}

TASUKI_WRAPPER(sighandler_t, sigset, int number, sighandler_t disposition) {
  Caught* caught = ours(number);
  if (caught == nullptr) return next_sigset()(number, disposition);
  return disposition == SIG_HOLD ? exchange(caught, nullptr).sa_handler : install(caught, disposition, 0);
}
TASUKI_WRAPPER(int, sigignore, int number) {
  Caught* caught = ours(number);
  if (caught == nullptr) return next_sigignore()(number);
  install(caught, SIG_IGN, 0);
  return 0;
}

TASUKI_WRAPPER(int, sighold, int number) {
  return ours(number) != nullptr ? 0 : next_sighold()(number);
}
TASUKI_WRAPPER(int, sigblock, int mask) {
  return next_sigblock()(never_blocked(mask));
}
TASUKI_WRAPPER(int, sigsetmask, int mask) {
  return next_sigsetmask()(never_blocked(mask));
}
TASUKI_WRAPPER(int, pthread_sigmask, int how, const sigset_t* set, sigset_t* old) {
  sigset_t room;
  return next_pthread_sigmask()(how, how != SIG_UNBLOCK ? never_blocked(set, &room) : set, old);
}
TASUKI_WRAPPER(int, sigprocmask, int how, const sigset_t* set, sigset_t* old) {
  sigset_t room;
  return next_sigprocmask()(how, how != SIG_UNBLOCK ? never_blocked(set, &room) : set, old);
}
TASUKI_WRAPPER(int, pthread_attr_setsigmask_np, pthread_attr_t* attributes, const sigset_t* set) {
  sigset_t room;
  return next_pthread_attr_setsigmask_np()(attributes, never_blocked(set, &room));
}
