// Looking into a running task from outside: which files it has loaded where. The kernel cannot tell (its
// lists speak of the whole address space); the space and the task's own dynamic linker can.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace tasuki::task {

struct LoadedObject {
  std::string file;
  uint64_t offset;  // what is added to the file's addresses
};

struct TaskView {
  uint32_t index, task_count;
  int32_t launcher_rank;
  std::string program;
  std::vector<LoadedObject> objects;  // the program first
};

// Needs the right to trace the process.
Result<TaskView> inspect_task(pid_t pid);

}  // namespace tasuki::task
