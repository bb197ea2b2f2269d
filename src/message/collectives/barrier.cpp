#include "message/collectives/barrier.h"

#include <algorithm>

#include "message/collectives/meeting.h"

namespace tasuki::message {
namespace {

// Tasks, or counters of the level below, that share a counter.
constexpr uint32_t kArity = 16;

uint32_t groups_of(uint32_t members) {
  return (members + kArity - 1) / kArity;
}

}  // namespace

Barrier* BarrierPool::take(int tasks) {
  uint32_t counters = 0;
  for (uint32_t level = groups_of(static_cast<uint32_t>(tasks));; level = groups_of(level)) {
    counters += level;
    if (level == 1) break;
  }
  Locked locked(lock_);
  for (Barrier** at = &free_; *at != nullptr; at = &(*at)->next) {
    Barrier* b = *at;
    if (b->counters != counters || !all_have_read(*b)) continue;
    *at = b->next;
    count_alike(*b);
    return b;
  }
  const size_t bytes = sizeof(Barrier) + counters * sizeof(Barrier::Counter);
  if (left_ < bytes) {
    const size_t slab = std::max(kSlab, bytes);
    char* memory = static_cast<char*>(map_forever(slab));
    if (memory == nullptr) return nullptr;
    slab_ = memory;
    left_ = slab;
  }
  Barrier* b = reinterpret_cast<Barrier*>(slab_);  // fresh zeros are its initial state
  slab_ += bytes;
  left_ -= bytes;
  b->counters = counters;
  b->places = groups_of(static_cast<uint32_t>(tasks)) * kArity;
  return b;
}

void BarrierPool::give(Barrier* b) {
  Locked locked(lock_);
  b->next = free_;
  free_ = b;
}

void enter_barrier(Engine& engine, Barrier& b, int rank, int count, const int* slots, bool library) {
  engine.count_call();
  // No task can complete this barrier before this one has arrived.
  const uint32_t generation = b.generation.load(std::memory_order_relaxed);
  Barrier::Counter* level = b.counter();
  for (uint32_t members = static_cast<uint32_t>(count), member = static_cast<uint32_t>(rank);;) {
    const uint32_t groups = groups_of(members), group = member / kArity;
    const uint32_t in_group = std::min(kArity, members - group * kArity);
    std::atomic<uint32_t>& arrived = level[group].arrived;
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != in_group) {
      engine.wait_for_tasks([&] { return b.generation.load(std::memory_order_acquire) != generation; },
                            library);
      return;
    }
    arrived.store(0, std::memory_order_relaxed);  // for the next barrier, which nobody can enter yet
    if (groups == 1) break;
    level += groups;
    members = groups;
    member = group;
  }
  b.generation.store(generation + 1, std::memory_order_release);
  engine.wake_tasks(slots, count, rank);
}

}  // namespace tasuki::message
