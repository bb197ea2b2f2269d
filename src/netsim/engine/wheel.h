// A timing wheel: events by tick. Near ones hang in a slot of their own tick, far ones wait in a heap. Adding
// and taking a near event costs a few nanoseconds (a binary heap alone made the kernel 3 to 6 times slower).
//
// Events of one tick come in no particular order: what a tick does must not depend on it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace tasuki::netsim {

using Tick = uint64_t;
inline constexpr Tick kNever = UINT64_MAX;

struct Event {
  uint32_t next;    // in its slot; the wheel's affair
  uint32_t target;  // router or node
  uint64_t data;    // the kernel's (partition.h)
};

class Wheel {
 public:
  // `span`: delays below it are near.
  explicit Wheel(Tick span) {
    size_t slots = 64;
    while (slots < span && slots < kMostSlots) slots *= 2;
    mask_ = slots - 1;
    heads_.assign(slots, kEnd);
    occupied_.assign(slots / 64, 0);
  }

  // Precondition: `at` is not before the tick taken last.
  void add(Tick at, uint32_t target, uint64_t data) {
    if (at - base_ > mask_) {
      far_.push_back({at, target, data});
      std::push_heap(far_.begin(), far_.end(), later);
      return;
    }
    add_near(at, target, data);
  }

  // The tick of the first event, or kNever.
  Tick next() const {
    const Tick far = far_.empty() ? kNever : far_.front().at;
    if (near_ == 0) return far;
    // Near events lie within one turn from base_, so the first occupied slot, going round, is the first in
    // time.
    const size_t start = base_ & mask_, words = occupied_.size();
    size_t word = start / 64;
    uint64_t bits = occupied_[word] & (~uint64_t{0} << start % 64);
    for (size_t i = 0; bits == 0; i++) {
      if (i > words) return far;
      word = word + 1 == words ? 0 : word + 1;
      bits = occupied_[word];
    }
    const size_t slot = word * 64 + static_cast<size_t>(std::countr_zero(bits));
    return std::min(far, base_ + ((slot - start) & mask_));
  }

  // Calls handle(event) for every event of the tick that next() gave. It may add events for later ticks.
  template <typename Handle>
  void take(Tick now, Handle handle) {
    base_ = now;
    while (!far_.empty() && far_.front().at - base_ <= mask_) {
      const Far f = far_.front();
      std::pop_heap(far_.begin(), far_.end(), later);
      far_.pop_back();
      add_near(f.at, f.target, f.data);
    }
    const size_t slot = now & mask_;
    uint32_t e = heads_[slot];
    if (e == kEnd) return;
    heads_[slot] = kEnd;
    occupied_[slot / 64] &= ~(uint64_t{1} << slot % 64);
    while (e != kEnd) {
      const Event event = pool_[e];
      pool_[e].next = free_;
      free_ = e;
      near_--;
      e = event.next;
      if (e != kEnd) __builtin_prefetch(&pool_[e]);
      handle(event);
    }
  }

 private:
  static constexpr uint32_t kEnd = UINT32_MAX;
  static constexpr size_t kMostSlots = 1u << 16;
  struct Far {
    Tick at;
    uint32_t target;
    uint64_t data;
  };
  static bool later(const Far& a, const Far& b) { return a.at > b.at; }

  void add_near(Tick at, uint32_t target, uint64_t data) {
    uint32_t e = free_;
    if (e == kEnd) {
      e = static_cast<uint32_t>(pool_.size());
      pool_.emplace_back();
    } else {
      free_ = pool_[e].next;
    }
    const size_t slot = at & mask_;
    pool_[e] = {heads_[slot], target, data};
    if (heads_[slot] == kEnd) occupied_[slot / 64] |= uint64_t{1} << slot % 64;
    heads_[slot] = e;
    near_++;
  }

  size_t mask_ = 0;
  Tick base_ = 0;
  size_t near_ = 0;
  uint32_t free_ = kEnd;
  std::vector<uint32_t> heads_;
  std::vector<uint64_t> occupied_;
  std::vector<Event> pool_;
  std::vector<Far> far_;
};

}  // namespace tasuki::netsim
