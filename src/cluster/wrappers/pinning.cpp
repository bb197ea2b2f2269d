#include "cluster/wrappers/pinning.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "os/memory/mapping.h"
#include "pager/pager.h"

namespace tasuki::cluster {

constinit Bounds g_cluster, g_guarded;
constinit thread_local unsigned t_internal = 0;

namespace {

std::atomic<pager::Pager*> g_pager{nullptr};

// All pins together stay below half of the local memory: a thread may wait in a system call for ever, and
// with all of it pinned no other page could come.
std::atomic<size_t> g_budget{0}, g_used{0};
// The first and the last page of a piece are pinned whole.
size_t ends() {
  return 2 * os::page_size();
}

size_t reserve(pager::Pager* pager, size_t bytes) {
  size_t budget = g_budget.load(std::memory_order_relaxed);
  if (budget == 0) g_budget.store(budget = pager->stats().local_bytes / 2);
  size_t used = g_used.load(std::memory_order_relaxed), taken;
  do {
    if (used + ends() >= budget) return 0;
    taken = std::min(bytes, budget - used - ends());
  } while (!g_used.compare_exchange_weak(used, used + taken + ends()));
  return taken;
}

// How many allocations overlap each 2 MiB of the address space; only what is used of the table takes memory.
constexpr int kBlockShift = 21;
constexpr size_t kBlocks = size_t{1} << (kAddressBits - kBlockShift);
std::atomic<std::atomic<uint16_t>*> g_blocks{nullptr};

uintptr_t block_of(const void* p) {
  return reinterpret_cast<uintptr_t>(p) >> kBlockShift;
}

void count(const void* p, size_t bytes, int change) {
  std::atomic<uint16_t>* blocks = g_blocks.load(std::memory_order_acquire);
  if (blocks == nullptr || bytes == 0) return;
  for (uintptr_t block = block_of(p); block <= block_of(static_cast<const char*>(p) + bytes - 1); block++)
    blocks[block].fetch_add(static_cast<uint16_t>(change), std::memory_order_relaxed);
}

}  // namespace

void Bounds::widen(uintptr_t low, uintptr_t high) {
  uintptr_t old = low_.load(std::memory_order_relaxed);
  while (low < old && !low_.compare_exchange_weak(old, low)) {
  }
  old = high_.load(std::memory_order_relaxed);
  while (high > old && !high_.compare_exchange_weak(old, high)) {
  }
}

void Bounds::widen(const Bounds& other) {
  widen(other.low_.load(), other.high_.load());
}

void Bounds::clear() {
  high_.store(0);
  low_.store(UINTPTR_MAX);
}

void attach_pager(pager::Pager* pager) {
  const InternalScope internal;
  if (g_blocks.load() == nullptr)
    g_blocks.store(static_cast<std::atomic<uint16_t>*>(os::map_memory(kBlocks * sizeof(uint16_t))));
  g_pager.store(pager);
}

pager::Pager* attached_pager() {
  return g_pager.load(std::memory_order_acquire);
}

void detach_pager() {
  g_guarded.clear();
  g_pager.store(nullptr);
}

void guard_all() {
  g_used.store(0);  // by threads that the child does not have
  g_guarded.widen(g_cluster);
}

void note_allocation(const void* p, size_t bytes) {
  count(p, bytes, 1);
  const uintptr_t low = reinterpret_cast<uintptr_t>(p), high = low + bytes;
  g_cluster.widen(low, high);
  if (needs_pin()) g_guarded.widen(low, high);
}

void forget_allocation(const void* p, size_t bytes) {
  count(p, bytes, -1);
}

bool listed(const void* p) {
  const std::atomic<uint16_t>* blocks = g_blocks.load(std::memory_order_acquire);
  const uintptr_t block = block_of(p);
  if (blocks == nullptr) return g_cluster.near(p);
  return block < kBlocks && blocks[block].load(std::memory_order_relaxed) != 0;
}

bool touches(const void* p, size_t bytes) {
  if (bytes == 0 || !g_cluster.near(p, bytes)) return false;
  const char* end = static_cast<const char*>(p) + bytes;
  const char* at = static_cast<const char*>(p);
  while (at < end && !listed(at)) at = reinterpret_cast<const char*>((block_of(at) + 1) << kBlockShift);
  if (at >= end) return false;
  const InternalScope internal;
  const pager::Pager* pager = g_pager.load(std::memory_order_acquire);
  return pager != nullptr && pager->touches(p, bytes);
}

bool is_guarded(const void* p, size_t bytes) {
  return t_internal == 0 && touches(p, bytes);
}

size_t size_of(const void* p) {
  if (!g_cluster.near(p)) return 0;
  const InternalScope internal;
  const pager::Pager* pager = g_pager.load(std::memory_order_acquire);
  return pager != nullptr ? pager->size_of(p) : 0;
}

bool needs_pin() {
  const pager::Pager* pager = g_pager.load(std::memory_order_acquire);
  return pager != nullptr && pager->needs_pin();
}

size_t pin(const void* p, size_t bytes, bool write) {
  pager::Pager* pager = g_pager.load(std::memory_order_acquire);
  if (pager == nullptr) return 0;
  const InternalScope internal;  // the pager may bring the pages in this thread
  const int error = errno;
  const size_t wanted = reserve(pager, bytes);
  const size_t pinned = wanted > 0 ? pager->pin(p, wanted, write) : 0;
  if (pinned > 0)
    g_used.fetch_sub(wanted - pinned);
  else if (wanted > 0)
    g_used.fetch_sub(wanted + ends());
  errno = error;
  return pinned;
}

bool permits(const void* p, size_t bytes, bool write) {
  const pager::Pager* pager = g_pager.load(std::memory_order_acquire);
  if (pager == nullptr) return true;
  const InternalScope internal;
  constexpr int kUsual = PROT_READ | PROT_WRITE;
  if (pager->protection(p, bytes) == kUsual) return true;
  const char* const end = static_cast<const char*>(p) + bytes;
  for (const char* at = static_cast<const char*>(p); at < end;
       at += os::page_size() - reinterpret_cast<uintptr_t>(at) % os::page_size()) {
    const int protection = pager->protection(at, 1);
    if (protection == PROT_NONE || (write && (protection & PROT_WRITE) == 0)) return false;
  }
  return true;
}

void unpin(const void* p, size_t bytes) {
  pager::Pager* pager = g_pager.load(std::memory_order_acquire);
  if (pager == nullptr || bytes == 0) return;
  const InternalScope internal;
  const int error = errno;
  pager->unpin(p, bytes);
  g_used.fetch_sub(bytes + ends());
  errno = error;
}

}  // namespace tasuki::cluster
