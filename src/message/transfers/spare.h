// Cores that no rank needs: how many helper threads a rank has, and where they do not run.
#pragma once

#include <cstdint>
#include <vector>

#include "os/process/cpu.h"

namespace tasuki::message {

struct CoresOfTasks {
  // On which cores each task of the space may run: what its launcher and control groups allow. An empty set:
  // not known.
  std::vector<const os::CpuSet*> tasks;
  uint32_t elsewhere = 0;             // tasks of the node that are not in the space: they may run anywhere
  uint32_t threads_each = 1;          // threads of its own that each task has
  const uint16_t* silicon = nullptr;  // os::hardware_threads(); nullptr: each core is one of its own
};

struct SpareCores {
  uint32_t threads;    // for this task
  os::CpuSet avoided;  // cores for threads of tasks that have fewer cores to choose from
};
// Each thread of each task gets a core first, those of the tasks with the fewest cores before others. What is
// left is dealt out, one core at a time, among the tasks that may run there. All tasks come to the same deal.
// A task whose own threads have too few cores gets none.
SpareCores spare_cores(const CoresOfTasks& all, size_t me);

}  // namespace tasuki::message
