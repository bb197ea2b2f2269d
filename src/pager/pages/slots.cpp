#include "pager/pages/slots.h"

#include <algorithm>

namespace tasuki::pager {

bool Slots::give(Region* region, uint64_t first, uint64_t units) {
  std::vector<uint32_t>& slots = region->slot_;
  for (uint64_t unit = first; unit < first + units;) {
    if (slots[unit] != 0) {
      unit++;
      continue;
    }
    uint64_t end = unit + 1;
    while (end < first + units && slots[end] == 0) end++;
    uint64_t slot = 0, count = 0;
    if (unit > 0 && slots[unit - 1] != 0) {  // next to its neighbour, so that they can travel together
      slot = slots[unit - 1];
      count = free_.take_at(slot, end - unit);
    }
    if (count == 0) count = free_.take(end - unit, &slot);
    if (count == 0) return false;
    for (uint64_t i = 0; i < count; i++) slots[unit + i] = static_cast<uint32_t>(slot + i + 1);
    unit += count;
  }
  return true;
}

void Slots::take(Region* region, uint64_t first, uint64_t units) {
  for (uint64_t unit = first; unit < first + units;) {
    const uint32_t slot = region->slot_[unit];
    if (slot == 0) {
      unit++;
      continue;
    }
    uint64_t count = 1;
    while (unit + count < first + units && region->slot_[unit + count] == slot + count) count++;
    for (uint64_t done = 0; done < count;) {
      const auto part =
          static_cast<uint32_t>(std::min<uint64_t>(count - done, store_->run_limit(slot - 1 + done)));
      const Status status = store_->release(slot - 1 + done, part);
      if (!status.ok()) failure_->report(status);
      done += part;
    }
    free_.add(slot - 1, count);
    std::fill_n(region->slot_.begin() + static_cast<ptrdiff_t>(unit), count, 0);
    unit += count;
  }
}

bool Slots::has_any(const Region& region, uint64_t first, uint64_t units) {
  const auto begin = region.slot_.begin() + static_cast<ptrdiff_t>(first);
  return std::any_of(begin, begin + static_cast<ptrdiff_t>(units), [](uint32_t slot) { return slot != 0; });
}

uint32_t Slots::run(const Region& region, uint64_t unit, uint64_t most, Slot* slot) const {
  const std::vector<uint32_t>& slots = region.slot_;
  *slot = slots[unit] - 1;
  const uint64_t limit = std::min(most, store_->run_limit(*slot));
  uint32_t count = 1;
  while (count < limit && slots[unit + count] == slots[unit] + count) count++;
  return count;
}

}  // namespace tasuki::pager
