#include "task/object/statistics.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>

#include <atomic>

#include "base/log.h"
#include "base/settings.h"
#include "os/clock.h"
#include "os/raw.h"
#include "task/space.h"

namespace {

using tasuki::task::TaskSlot;

// A mapping takes up to 0.1 ms longer than in an address space of its own (measured with two ranks: mmap,
// touch and munmap of 16 MiB, which are two calls, and mprotect of 1 MiB: 0.03 to 0.2 ms), a fork 2 ms
// (with eight ranks 60): at these rates up to a tenth of the time, or more. Fewer than so many in all are not
// noticed; so many are told to a program that has not asked.
constexpr double kOftenMappings = 1000, kOftenForks = 20;
constexpr double kToldUnasked = 10;  // times as many

int64_t g_begin_ns;
bool g_wanted;
std::atomic<uint64_t> g_forks;

__attribute__((constructor)) void begin() {
  if (tasuki::task::self() == nullptr) return;
  g_wanted = tasuki::setting_flag("TASUKI_STATS");
  g_begin_ns = tasuki::os::monotonic_ns();
  pthread_atfork([] { g_forks.fetch_add(1, std::memory_order_relaxed); }, nullptr, nullptr);
}

// Not at the end of a program that is ended by a signal or by _exit().
__attribute__((destructor)) void print() {
  const TaskSlot* slot = tasuki::task::self();
  if (slot == nullptr || g_begin_ns == 0) return;
  const double seconds = static_cast<double>(tasuki::os::monotonic_ns() - g_begin_ns) * 1e-9;
  const double mappings = static_cast<double>(tasuki::task::g_mappings.load(std::memory_order_relaxed));
  const double forks = static_cast<double>(g_forks.load(std::memory_order_relaxed));
  const int rank = slot->launcher_rank >= 0 ? slot->launcher_rank : static_cast<int>(slot->index);
  if (g_wanted) {
    char line[256];
    const int n = snprintf(
        line, sizeof line,
        "tasuki: mappings of rank %d: %.0f, %.0f a second (mmap, munmap, mremap, mprotect); forks: %.0f\n",
        rank, mappings, mappings / seconds, forks);
    tasuki::os::raw_syscall(SYS_write, 2, tasuki::os::raw_arg(line), n);
  }
  const auto often = [&](double calls, double limit) {
    const double least = g_wanted ? limit : kToldUnasked * limit;
    return calls >= least && calls >= limit * seconds;
  };
  const bool maps = often(mappings, kOftenMappings), copies = often(forks, kOftenForks);
  // Nobody wants to read it once for each of many ranks.
  if (!maps && !copies) return;
  if (!g_wanted && slot->space->told.exchange(1) != 0) return;
  if (maps)
    tasuki::log(tasuki::LogLevel::warning,
                "rank %d maps and unmaps often: each call may take 0.1 ms longer than in an address space of "
                "its own, a tenth of the time at 1000 a second; keep memory instead of unmapping it, or set "
                "TASUKI_SPACE=off (`tasuki bench space` measures the cost)",
                rank);
  if (copies)
    tasuki::log(tasuki::LogLevel::warning,
                "rank %d forks often: each fork copies the page tables of all ranks of the address space; "
                "posix_spawn does not, nor do ranks with TASUKI_SPACE=off (`tasuki bench space` measures the "
                "cost)",
                rank);
}

}  // namespace
