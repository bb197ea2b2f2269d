#include "cluster/wrappers/faults.h"

#include <signal.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "cluster/wrappers/pinning.h"
#include "generated/next.h"

namespace tasuki::cluster {
namespace {

std::atomic<bool> g_pager_catches{false};
std::atomic<bool> g_busy{false};
struct sigaction g_program;  // what the program has installed, under g_busy

// Not a mutex: sigaction may be called in signal handlers. Signals wait meanwhile.
struct sigaction exchange(const struct sigaction* fresh) {
  sigset_t all, before;
  sigfillset(&all);
  next_pthread_sigmask()(SIG_SETMASK, &all, &before);
  while (g_busy.exchange(true, std::memory_order_acquire)) {
  }
  const struct sigaction old = g_program;
  if (fresh != nullptr) g_program = *fresh;
  g_busy.store(false, std::memory_order_release);
  next_pthread_sigmask()(SIG_SETMASK, &before, nullptr);
  return old;
}

// A SIGSEGV that is not the pager's: as it would be without it.
void on_program_fault(int number, siginfo_t* info, void* context) {
  const struct sigaction program = exchange(nullptr);
  const bool with_info = (program.sa_flags & SA_SIGINFO) != 0;
  const bool sent = info->si_code <= 0;  // by kill, raise, sigqueue
  if (!with_info && program.sa_handler == SIG_IGN && sent) return;
  if (!with_info && (program.sa_handler == SIG_DFL || program.sa_handler == SIG_IGN)) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    next_sigaction()(SIGSEGV, &action, nullptr);
    if (sent) raise(SIGSEGV);
    return;  // the access faults again
  }
  if ((program.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    exchange(&action);
  }
  sigset_t mask = program.sa_mask, before;
  sigdelset(&mask, SIGSEGV);
  next_pthread_sigmask()(SIG_BLOCK, &mask, &before);
  if (with_info)
    program.sa_sigaction(number, info, context);
  else
    program.sa_handler(number);
  next_pthread_sigmask()(SIG_SETMASK, &before, nullptr);
}

bool is_ours() {
  return g_pager_catches.load(std::memory_order_relaxed) && t_internal == 0;
}

// The set without SIGSEGV; `set` itself if it has none, or nullptr.
const sigset_t* without(const sigset_t* set, sigset_t* room) {
  if (set == nullptr || sigismember(set, SIGSEGV) != 1) return set;
  *room = *set;
  sigdelset(room, SIGSEGV);
  return room;
}

sighandler_t install(sighandler_t handler, int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return exchange(&action).sa_handler;
}

}  // namespace

void before_pager_handler() {
  struct sigaction action = {};
  action.sa_sigaction = on_program_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  next_sigaction()(SIGSEGV, &action, &g_program);
}

void after_pager_handler() {
  struct sigaction now;
  next_sigaction()(SIGSEGV, nullptr, &now);
  if (now.sa_sigaction == on_program_fault)
    next_sigaction()(SIGSEGV, &g_program, nullptr);
  else
    g_pager_catches.store(true);
}

}  // namespace tasuki::cluster

using namespace tasuki::cluster;

TASUKI_WRAPPER(int, sigaction, int number, const struct sigaction* action, struct sigaction* old) {
  if (!is_ours()) return next_sigaction()(number, action, old);
  if (number == SIGSEGV) {
    const struct sigaction before = exchange(action);
    if (old != nullptr) *old = before;
    return 0;
  }
  struct sigaction changed;
  if (action != nullptr && sigismember(&action->sa_mask, SIGSEGV) == 1) {
    changed = *action;
    sigdelset(&changed.sa_mask, SIGSEGV);
    action = &changed;
  }
  return next_sigaction()(number, action, old);
}

TASUKI_WRAPPER(sighandler_t, signal, int number, sighandler_t handler) {
  if (number != SIGSEGV || !is_ours()) return next_signal()(number, handler);
  return install(handler, SA_RESTART);
}
TASUKI_WRAPPER(sighandler_t, __sysv_signal, int number, sighandler_t handler) {
  if (number != SIGSEGV || !is_ours()) return next___sysv_signal()(number, handler);
  return install(handler, static_cast<int>(SA_RESETHAND) | SA_NODEFER);
}

// Blocked, the signal of an access to a page that is away would end the program.
TASUKI_WRAPPER(int, pthread_sigmask, int how, const sigset_t* set, sigset_t* old) {
  sigset_t room;
  return next_pthread_sigmask()(how, is_ours() && how != SIG_UNBLOCK ? without(set, &room) : set, old);
}
TASUKI_WRAPPER(int, sigprocmask, int how, const sigset_t* set, sigset_t* old) {
  sigset_t room;
  return next_sigprocmask()(how, is_ours() && how != SIG_UNBLOCK ? without(set, &room) : set, old);
}
