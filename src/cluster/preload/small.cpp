// Small objects of malloc: when they are cluster memory, and the heap that has them.
#include <link.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/settings.h"
#include "cluster/heap/small_heap.h"
#include "cluster/preload/preload.h"
#include "cluster/wrappers/pinning.h"
#include "os/memory/mapping.h"
#include "os/process/cpu.h"
#include "os/process/self.h"
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
  bool discard(void* p, size_t bytes) override { return !is_alone() && dlm_discard(p, bytes) == 0; }

 private:
  static constexpr size_t kAlignment = size_t{2} << 20;
};

// Never destroyed: objects are freed while the process ends. Behind the pointer when it is ready.
alignas(SmallHeap) std::byte g_room[sizeof(SmallHeap)];
std::atomic<SmallHeap*> g_heap{nullptr};
Blocks& blocks() {
  alignas(Blocks) static std::byte room[sizeof(Blocks)];
  static Blocks* const made = new (room) Blocks;
  return *made;
}

// Small objects that the program may have in local memory, and what of it was there when it began.
uint64_t g_share = 0, g_before = 0;
size_t g_threshold_before = 0;
constexpr uint64_t kLeastShare = 1 << 20;

uint64_t beside_now() {
  dlm_counters now;
  if (dlm_stats(&now, sizeof now) != 0) return 0;
  const uint64_t counted = g_before + now.resident_bytes, all = os::anonymous_memory();
  return all > counted ? all - counted : 0;
}

// Of the program: such a library keeps in small objects what its own threads and devices use. In a job with
// servers it is the pager's.
bool has_mpi() {
  if (strstr(library_path(), "/alone/") == nullptr) return false;
  return dl_iterate_phdr([](dl_phdr_info* info, size_t,
                            void*) { return strstr(info->dlpi_name, "/libmpi") != nullptr ? 1 : 0; },
                         nullptr) != 0;
}

}  // namespace

// What is freed with the threshold at 1 is not local any more, so that is for good.
void small_to_cluster() {
  g_look_after.store(SIZE_MAX);
  if (!is_alone()) g_threshold.store(1);
}

void begin_small() {
  constexpr unsigned kMostArenas = 8;
  os::CpuSet cores;
  const int count = os::current_cpu_set(&cores);
  g_heap.store(new (g_room)
                   SmallHeap(&blocks(), std::clamp<unsigned>(count > 0 ? count : 1, 1, kMostArenas)));
  g_threshold_before = g_threshold.load();
  const int choice = setting_choice("TASUKI_MEM_SMALL");
  dlm_counters now;
  if (choice == 2 || dlm_stats(&now, sizeof now) != 0 || now.server_bytes == 0) return;
  if (choice == 1) return small_to_cluster();
  // Small objects go to system calls of all kinds, and forked children read them.
  if (needs_pin() || !attached_pager()->children_read() || !is_asked() || is_foreign()) return;
  g_before = os::anonymous_memory() - std::min(now.resident_bytes, os::anonymous_memory());
  g_share = std::max(now.local_bytes / 8, kLeastShare);
  g_look_after.store(g_share / 8);
}

void look_at_small() {
  const InternalScope internal;
  const uint64_t beside = beside_now();
  if (g_look_after.load() == SIZE_MAX) return;
  if (has_mpi()) return g_look_after.store(SIZE_MAX);
  if (beside >= g_share) return small_to_cluster();
  g_look_after.store(std::max(g_share - beside, g_share / 4) / 8);
}

bool takes_small(size_t bytes, size_t alignment) {
  return bytes <= SmallHeap::kMost && alignment <= 4096 && g_heap.load(std::memory_order_acquire) != nullptr;
}

bool is_only_small(size_t bytes) {
  return bytes < g_threshold_before;
}

void* take_small(size_t bytes, size_t alignment, bool zero) {
  SmallHeap::Object object;
  {
    const InternalScope internal;
    object = g_heap.load(std::memory_order_acquire)->take(bytes, alignment);
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
