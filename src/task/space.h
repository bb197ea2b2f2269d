// task: what the tasks of one address space share. Plain data at addresses that are valid in every task: no
// virtual functions, no function pointers, no std:: containers (code and globals exist once per task).
//
//   space   one address space with its tasks; made by its host before the first task starts
//   task    one program started in a space: a real process (own pid, descriptors, libc) that shares the memory
//   host    the process that owns the space, starts its tasks and lives until the last of them has ended
//   proxy   the `tasuki run` process that the launcher started for a task: relays signals and the exit status
//
// A task finds its slot by an entry of its own in the auxiliary vector (kAuxTask): exec'ed programs do not
// inherit it, and a forked child recognises by the pid that it is not the task.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/process/cpu.h"

namespace tasuki::task {

inline constexpr uint64_t kSpaceMagic = 0x31656361'70734b54;  // "TKspace1"
inline constexpr uint32_t kSpaceVersion = 4;
inline constexpr unsigned long kAuxTask = 0x5441534b;  // type of the auxv entry; its value is a TaskSlot*

struct Space;
class RangeSet;  // task/ranges.h

enum class TaskState : uint32_t { empty = 0, starting = 1, running = 2, ended = 3 };

struct TaskSlot {
  Space* space;
  uint32_t index;            // position in Space::tasks
  int32_t launcher_rank;     // rank in the launcher's job (world rank), -1 if unknown
  std::atomic<int32_t> pid;  // of the task
  std::atomic<TaskState> state;
  int32_t wait_status;              // as of waitpid, valid when ended
  os::CpuSet cores;                 // its affinity mask when it started
  const char* program;              // absolute path of the program, as /proc/self/exe would name it
  uint64_t stack_begin, stack_end;  // of the initial thread
  uint64_t interpreter;             // address at which the task's own ld.so is loaded
  // Of a guarded task (object/guard.cpp), else 0: the protection key of its memory, which tasks of the same
  // colour share.
  int32_t key;
  std::atomic<const RangeSet*> claimed;  // what was its own when it had been loaded
};

struct Space {
  uint64_t magic;
  uint32_t version;     // layout of these structs; a shim of another version stays off
  uint32_t task_count;  // tasks that this space will hold: known before the first one starts
  int32_t host_pid;
  uint32_t core_count;         // cores in the union of the tasks' affinity masks
  uint32_t job_task_count;     // tasks of the whole job on this node, over all its spaces and plain processes
  std::atomic<uint32_t> gate;  // 0: tasks that have been started wait; they run once all have been
  // A space whose tasks are guarded: the keys of their colours, and which task is loaded now. They are loaded
  // one after the other, so that each can tell what is its own; `before` is what was there before the first.
  uint32_t colours;  // 0: not guarded
  std::atomic<uint32_t> turn;
  int32_t keys[16];
  const RangeSet* before;
  std::atomic<uint32_t> told;  // not 0: a task has said that sharing costs it much (object/statistics.cpp)
  // Root pointers of the layers above (index: Root), nullptr until the first task that needs one publishes it
  // by compare-and-swap. What they point to lives in mappings of its own and is never unmapped while a task
  // lives.
  std::atomic<void*> roots[8];

  TaskSlot* tasks() { return reinterpret_cast<TaskSlot*>(this + 1); }  // task_count of them, right behind
};

enum Root { kRootMpi = 0, kRootCoarray = 1, kRootPager = 2 };

// The calling process's slot if it is a task of a space, else nullptr. Cheap after the first call;
// thread-safe.
TaskSlot* self();

// The slot that the running program was loaded for: self() in a task, its parent task's in a forked child,
// which still is that program. nullptr elsewhere. For what depends on the program, not on the process.
const TaskSlot* loaded_for();

}  // namespace tasuki::task
