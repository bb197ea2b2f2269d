// A forked child that has no cluster memory. Where it touches some it dies, as it would at any address
// without memory, but not silently.
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "base/log.h"
#include "cluster/preload/preload.h"
#include "cluster/wrappers/pinning.h"
#include "generated/next.h"
#include "os/memory/mapping.h"

namespace tasuki::cluster::preload {
namespace {

// For all children: said once.
std::atomic<bool>* g_said = nullptr;

void on_fault(int, siginfo_t* info, void*) {
  // SA_RESETHAND: the access is made again, and ends the child.
  if (info->si_code > 0 && listed(info->si_addr) && !g_said->exchange(true))
    log(LogLevel::error,
        "a forked child has no cluster memory, and this one ends because it used an address of cluster "
        "memory. To keep local what children need, use a larger --threshold, and --mmap off for "
        "interpreters");
  if (info->si_code <= 0) raise(SIGSEGV);
}

}  // namespace

void prepare_explanation() {
  void* shared = os::map_shared(os::page_size());
  if (shared != nullptr) g_said = new (shared) std::atomic<bool>(false);
}

void explain_faults() {
  struct sigaction now;
  if (g_said == nullptr || next_sigaction()(SIGSEGV, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESETHAND | SA_ONSTACK | SA_NODEFER);
  next_sigaction()(SIGSEGV, &action, nullptr);
}

}  // namespace tasuki::cluster::preload
