// Small objects of malloc: when they are cluster memory, and the heap that has them.
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/settings.h"
#include "cluster/api/entry.h"
#include "cluster/heap/small_heap.h"
#include "cluster/preload/preload.h"
#include "cluster/wrappers/pinning.h"
#include "os/memory/mapping.h"
#include "os/process/cpu.h"
#include "os/process/thread.h"
#include "pager/pager.h"
#include "tasuki/dlm.h"

namespace tasuki::cluster::preload {

std::atomic<size_t> g_look_after{SIZE_MAX};

namespace {

class Blocks final : public ChunkSource {
 public:
  void* take(size_t bytes) override { return allocate(bytes, kAlignment, Origin::small); }
  // A forked child knows what is free, and that is all.
  bool give(void* chunk) override { return !is_alone() && release(chunk); }
  bool discard(void* p, size_t bytes) override {
    const os::NoCancellation none;
    return !is_alone() && dlm_discard(p, bytes) == 0;
  }
};

// Never destroyed: objects are freed while the process ends. Behind the pointer when it is ready.
alignas(SmallHeap) std::byte g_room[sizeof(SmallHeap)];
std::atomic<SmallHeap*> g_heap{nullptr};
Blocks& blocks() {
  alignas(Blocks) static std::byte room[sizeof(Blocks)];
  static Blocks* const made = new (room) Blocks;
  return *made;
}

// What the program may have in local memory before small objects go elsewhere.
uint64_t g_share = 0;
constexpr uint64_t kLeastShare = 1 << 20;

size_t g_threshold_before = 0;

// Of the program: such a library keeps in small objects what its own threads and devices use. In a job with
// servers it is the pager's.
bool may_have_mpi() {
  if (!is_without_mpi()) return false;
  for (const char* set_by_launcher : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (getenv(set_by_launcher) != nullptr) return true;
  return false;
}

// For good. Not if the pager is about to end.
void small_to_cluster() {
  g_look_after.store(SIZE_MAX);
  size_t active = g_threshold_before;
  g_threshold.compare_exchange_strong(active, 1);
}

}  // namespace

void begin_small() {
  constexpr int kMostArenas = 8;
  os::CpuSet cores;
  const int arenas = std::clamp(os::current_cpu_set(&cores), 1, kMostArenas);
  g_heap.store(new (g_room) SmallHeap(&blocks(), static_cast<unsigned>(arenas)));
  g_threshold_before = g_threshold.load();
  const int choice = setting_choice("TASUKI_MEM_SMALL");
  dlm_counters now;
  if (choice == 2 || dlm_stats(&now, sizeof now) != 0 || now.server_bytes == 0) return;
  if (choice == 1) return small_to_cluster();
  // Small objects go to system calls of all kinds, and forked children read them.
  if (needs_pin() || !attached_pager()->children_read() || !is_asked() || is_foreign() || may_have_mpi())
    return;
  g_share = std::max(now.local_bytes / 8, kLeastShare);
  g_look_after.store(g_share / 8);
}

void look_at_small() {
  const InternalScope internal;
  const os::NoCancellation none;
  const int error = errno;
  size_t after = g_look_after.load();
  const uint64_t beside = tasuki_dlm_beside();
  if (after == SIZE_MAX) {
    // Another thread has decided.
  } else if (beside >= g_share) {
    small_to_cluster();
  } else {
    g_look_after.compare_exchange_strong(after, std::max(g_share - beside, g_share / 4) / 8);
  }
  errno = error;
}

bool takes_small(size_t bytes, size_t alignment) {
  return bytes <= SmallHeap::kMost && alignment < os::page_size() &&
         g_heap.load(std::memory_order_acquire) != nullptr;
}

bool is_only_small(size_t bytes) {
  return bytes < g_threshold_before;
}

void* take_small(size_t bytes, size_t alignment, bool zero) {
  SmallHeap::Object object;
  {
    const InternalScope internal;
    const int error = errno;
    object = g_heap.load(std::memory_order_acquire)->take(bytes, alignment);
    errno = error;
  }
  if (zero && !object.zero && object.p != nullptr) memset(object.p, 0, bytes);
  return object.p;
}

bool is_small(const void* p) {
  const SmallHeap* const heap = g_heap.load(std::memory_order_acquire);
  return heap != nullptr && heap->holds(p);
}

size_t small_bytes(const void* p) {
  return g_heap.load(std::memory_order_acquire)->bytes_of(p);
}

bool give_small(void* p) {
  const InternalScope internal;
  return g_heap.load(std::memory_order_acquire)->give(p);
}

void lock_small() {
  if (SmallHeap* const heap = g_heap.load()) heap->lock();
}
void unlock_small() {
  if (SmallHeap* const heap = g_heap.load()) heap->unlock();
}

}  // namespace tasuki::cluster::preload
