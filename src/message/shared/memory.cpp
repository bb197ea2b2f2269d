#include "message/shared/memory.h"

#include "message/shared/locked.h"
#include "os/memory/keys.h"
#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"
#include "task/ranges.h"

namespace tasuki::message {
namespace {

// What is free in this process's slice.
class Slice {
 public:
  bool used() const { return used_; }
  void open(uintptr_t begin, uint64_t bytes) {
    used_ = true;
    free_.add(begin, begin + bytes);
  }
  void* take(uint64_t bytes) {
    const Locked locked(lock_);
    for (const task::Range& r : free_) {  // the first that is large enough
      if (r.end - r.begin < bytes) continue;
      const uintptr_t at = r.begin;
      free_.remove(at, at + bytes);
      return reinterpret_cast<void*>(at);
    }
    return nullptr;
  }
  void give(void* at, uint64_t bytes) {
    // What cannot be emptied is not zeros, and is not given out again.
    if (!os::punch_hole_at(at, bytes)) return;
    const Locked locked(lock_);
    free_.add(reinterpret_cast<uintptr_t>(at), reinterpret_cast<uintptr_t>(at) + bytes);
  }

 private:
  bool used_ = false;
  SpinLock lock_;
  task::RangeSet free_;
};

Slice g_slice;

}  // namespace

void use_slice(char* slice, uint64_t bytes) {
  g_slice.open(reinterpret_cast<uintptr_t>(slice), bytes);
}

void* map_shared(size_t bytes) {
  bytes = os::page_ceil(bytes);
  return g_slice.used() ? g_slice.take(bytes) : os::map_open_memory(bytes);
}

void unmap_shared(void* at, size_t bytes) {
  bytes = os::page_ceil(bytes);
  if (g_slice.used())
    g_slice.give(at, bytes);
  else
    os::unmap(at, bytes);
}

}  // namespace tasuki::message
