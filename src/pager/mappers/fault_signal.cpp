#include "pager/mappers/fault_signal.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>
#include <string>

#include "os/context.h"
#include "os/memory/mapping.h"
#include "os/process/signals.h"

namespace tasuki::pager {
namespace {

// What the handler looks at.
struct Shared {
  std::atomic<bool> used{false};
  int number = 0;
  FaultSignal::Serve serve = nullptr;
  struct sigaction before = {};
  // In a page that a child of fork sees as zeros: nobody serves the child's faults.
  std::atomic<uint32_t>* serving = nullptr;
};
Shared shared;

void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& before = shared.before;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else if (info->si_code > 0) {
    // The access faults again, and now as it would have without us.
    sigaction(signal, &before, nullptr);
  } else if (before.sa_handler == SIG_DFL) {  // sent by somebody
    sigaction(signal, &before, nullptr);
    raise(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  os::FaultEvent event;
  event.address = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto* interrupted = static_cast<const ucontext_t*>(context);
  // Whoever gets it next finds the signals blocked that the program has blocked, and may leave by longjmp.
  const auto not_ours = [&] {
    os::block_only(interrupted->uc_sigmask);
    pass_on(signal, info, context);
  };
  // The other SIGBUSes are memory that has failed.
  const bool of_access = info->si_code > 0 && (signal != SIGBUS || info->si_code == BUS_ADRERR);
  if (!of_access || shared.serving->load() == 0) return not_ours();
  const int error = errno;
  const os::Access access = os::access_of(*interrupted);
  if (!access.known) return not_ours();
  event.write = access.write;
  event.execute = access.execute;
  event.thread = static_cast<int>(gettid());
  const bool served = shared.serve(event, interrupted->uc_sigmask);
  errno = error;
  if (!served) not_ours();
}

}  // namespace

void FaultSignal::stop() {
  if (!started_) return;
  started_ = false;
  sigaction(shared.number, &shared.before, nullptr);
  shared.serving->store(0);
  shared.used.store(false);
}

Status FaultSignal::serve_in_child(int number, Serve serve) {
  if (shared.used.load() && shared.number == number) {
    shared.serve = serve;
    shared.serving->store(1);
    return {};
  }
  auto* const kept = new FaultSignal;  // never destroyed: what runs at the end may fault
  return kept->start(number, serve, Others::wait);
}

Status FaultSignal::start(int number, Serve serve, Others others, Stack stack) {
  const std::string name = number == SIGBUS ? "SIGBUS" : "SIGSEGV";
  if (shared.used.exchange(true))
    return Status::error(EBUSY, "another pager of this process catches the signals of faults");
  shared.number = number;
  shared.serve = serve;
  if (shared.serving == nullptr) {  // for the rest of the process: a fault may be looking at it
    void* page = os::map_memory(os::page_size());
    if (page == nullptr || !os::wipe_on_fork(page, os::page_size())) {
      shared.used.store(false);
      return Status::error(ENOMEM, name + " cannot be caught: no memory that fork clears (Linux 4.14)");
    }
    shared.serving = new (page) std::atomic<uint32_t>(0);
  }
  shared.serving->store(1);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (stack == Stack::alternate) action.sa_flags |= SA_ONSTACK;
  if (others == Others::run)
    action.sa_flags |= SA_NODEFER;
  else
    sigfillset(&action.sa_mask);
  if (sigaction(number, &action, &shared.before) != 0) {
    shared.used.store(false);
    return Status::error(errno, "cannot catch " + name);
  }
  started_ = true;
  return {};
}

}  // namespace tasuki::pager
