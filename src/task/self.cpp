#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>

#include "os/memory/mapping.h"
#include "task/space.h"

namespace tasuki::task {
namespace {

// 0: not looked up yet; kNotATask; else the TaskSlot. In a page of its own that a forked child finds zeroed:
// the child looks again and sees by the pid that the slot is its parent's.
constexpr uintptr_t kNotATask = 1;
struct alignas(os::kLargestPage) Cache {
  std::atomic<uintptr_t> slot;
  char rest[os::kLargestPage - sizeof(std::atomic<uintptr_t>)];
};
Cache g_cache;

TaskSlot* slot_of_program() {
  TaskSlot* slot = reinterpret_cast<TaskSlot*>(getauxval(kAuxTask));
  if (slot == nullptr || slot->space == nullptr) return nullptr;
  return slot->space->magic == kSpaceMagic && slot->space->version == kSpaceVersion ? slot : nullptr;
}

uintptr_t look_up() {
  TaskSlot* slot = slot_of_program();
  if (slot == nullptr || slot->pid.load(std::memory_order_acquire) != getpid()) return kNotATask;
  return reinterpret_cast<uintptr_t>(slot);
}

}  // namespace

TaskSlot* self() {
  uintptr_t known = g_cache.slot.load(std::memory_order_relaxed);
  if (known == 0) {
    known = look_up();
    g_cache.slot.store(known, std::memory_order_relaxed);  // first: madvise asks too (object/mapping.cpp)
    // Where the kernel cannot wipe the page, fork handlers do; a child made by a raw clone() would then take
    // itself for its parent.
    if (!os::wipe_on_fork(&g_cache, sizeof g_cache) && known != kNotATask)
      pthread_atfork(nullptr, nullptr, [] { g_cache.slot.store(0, std::memory_order_relaxed); });
  }
  return known == kNotATask ? nullptr : reinterpret_cast<TaskSlot*>(known);
}

const TaskSlot* loaded_for() {
  return slot_of_program();
}

}  // namespace tasuki::task
