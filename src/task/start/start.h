// Starting one task in this address space.
#pragma once

#include "task/space.h"
#include "task/start/request.h"

namespace tasuki::task {

struct StartOptions {
  std::string library_dir;  // <prefix>/lib/tasuki
  bool own_group = false;   // the task leads a process group of its own, and a session if its proxy does
  MpiAbi abi = MpiAbi::none;
  uint64_t layout_seed = 0;  // not 0: the task is loaded at random places derived from this number
  uint32_t node_tasks = 0;   // ranks of this node that are tasks, in this space or another
};

// Loads the task's interpreter, builds its initial stack and starts it as a child of this process. All
// signals must be blocked. On success slot->pid is set. The request's descriptors may be closed afterwards.
// `notice`: a text for the user if something is missing that the task can do without.
Status start_task(TaskSlot* slot, const TaskRequest& request, const StartOptions& options,
                  std::string* notice);

// Lets the tasks that have been started run.
void open_gate(Space* space);

// The space itself, with empty slots.
// `guarded`: each task's memory gets a protection key, and other tasks cannot write it (object/guard.cpp).
Result<Space*> create_space(uint32_t task_count, uint32_t job_task_count, bool guarded);

}  // namespace tasuki::task
