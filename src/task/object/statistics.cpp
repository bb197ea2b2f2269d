#include "task/object/statistics.h"

#include <stdio.h>
#include <sys/syscall.h>

#include "base/settings.h"
#include "os/clock.h"
#include "os/raw.h"
#include "task/space.h"

namespace {

using tasuki::task::TaskSlot;

// A mapping takes up to 0.1 ms longer than in an address space of its own (measured with two ranks: mmap,
// touch and munmap of 64 KiB to 1 MiB, which are two calls, 0.03 to 0.2 ms): at 1000 a second up to a tenth
// of the time. Fewer than so many in all are not noticed.
constexpr double kOften = 1000;

int64_t g_begin_ns;  // 0: no statistics are wanted

__attribute__((constructor)) void begin() {
  if (tasuki::task::self() != nullptr && tasuki::setting_flag("TASUKI_STATS"))
    g_begin_ns = tasuki::os::monotonic_ns();
}

// Not at the end of a program that is ended by a signal or by _exit().
__attribute__((destructor)) void print() {
  const TaskSlot* slot = tasuki::task::self();
  if (slot == nullptr || g_begin_ns == 0) return;
  const double seconds = static_cast<double>(tasuki::os::monotonic_ns() - g_begin_ns) * 1e-9;
  const double mappings = static_cast<double>(tasuki::task::g_mappings.load(std::memory_order_relaxed));
  const int rank = slot->launcher_rank >= 0 ? slot->launcher_rank : static_cast<int>(slot->index);
  char line[512];
  int n =
      snprintf(line, sizeof line, "tasuki: mappings of rank %d: %.0f, %.0f a second (mmap, munmap, mremap)\n",
               rank, mappings, mappings / seconds);
  if (mappings >= kOften && mappings >= kOften * seconds)
    n += snprintf(line + n, sizeof line - static_cast<size_t>(n),
                  "tasuki: rank %d maps and unmaps often: each call may take 0.1 ms longer than in an "
                  "address space of its own, a tenth of the time at 1000 a second; keep memory instead of "
                  "unmapping it (`tasuki bench space` measures the cost)\n",
                  rank);
  tasuki::os::raw_syscall(SYS_write, 2, tasuki::os::raw_arg(line), n);
}

}  // namespace
