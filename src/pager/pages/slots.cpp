#include "pager/pages/slots.h"

#include <algorithm>

#include "base/log.h"

namespace tasuki::pager {

Slots::Slots(Store* store, Failure* failure) : store_(store), failure_(failure), count_(store->slots()) {
  for (Slot first = 0; first < count_; first = parts_.back().end)
    parts_.push_back({std::min(store_->part_end(first), count_), {}});
  reserved_ = std::min(store_->reserved(), count_);
  least_reserved_ = reserved_;
  add_free(0, reserved_);
}

uint64_t Slots::free() const {
  uint64_t all = count_ - reserved_;
  for (const Part& part : parts_) all += part.free.total();
  return all;
}

Slots::Part& Slots::part_of(Slot slot) {
  return *std::find_if(parts_.begin(), parts_.end(), [slot](const Part& part) { return slot < part.end; });
}

void Slots::add_free(Slot first, uint64_t count) {
  while (count > 0) {
    Part& part = part_of(first);
    const uint64_t here = std::min(count, part.end - first);
    part.free.add(first, here);
    first += here;
    count -= here;
  }
}

uint64_t Slots::take_free(uint64_t want, Slot* first) {
  for (Part& part : parts_)
    if (const uint64_t got = part.free.take(want, first); got > 0) return got;
  return 0;
}

Status Slots::reserve(uint64_t units) {
  const uint64_t least = std::min(units, count_);
  if (least <= reserved_) return {};
  uint64_t wanted = std::min(count_, (least + step() - 1) / step() * step());
  Status status = store_->reserve(wanted);
  if (!status.ok() && wanted > least) status = store_->reserve(wanted = least);
  if (!status.ok()) {
    // Who does not look at what an allocation gives dies of it, and who does may try often.
    if (!told_) log(LogLevel::warning, "an allocation fails: %s", status.message().c_str());
    told_ = true;
    return status;
  }
  add_free(reserved_, wanted - reserved_);
  reserved_ = wanted;
  return {};
}

// Half of it stays, for what is allocated next.
void Slots::needs_only(uint64_t units) {
  if (reserved_ <= least_reserved_ || reserved_ / 2 < units + step()) return;
  RunSet& free = part_of(reserved_ - 1).free;
  const Slot used = free.begin_of_run_to(reserved_);
  const Slot end = std::max({used, (units + step() - 1) / step() * step(), least_reserved_});
  if (end >= reserved_) return;
  free.take_at(end, reserved_ - end);
  const Status status = store_->reserve(end);
  if (!status.ok()) return failure_->report(status);
  reserved_ = end;
}

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
      count = slot < count_ ? part_of(slot).free.take_at(slot, end - unit) : 0;
    }
    if (count == 0) count = take_free(end - unit, &slot);
    if (count == 0 && reserve_more()) count = take_free(end - unit, &slot);
    if (count == 0) return false;
    if (any_frozen()) snapshots_.back().born.add(slot, count);
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
    if (any_frozen())
      split(slot - 1, count, &snapshots_.back().born, &snapshots_.back().left);
    else
      release(slot - 1, count);
    std::fill_n(region->slot_.begin() + static_cast<ptrdiff_t>(unit), count, 0);
    unit += count;
  }
}

void Slots::release(Slot first, uint64_t count) {
  for (uint64_t done = 0; done < count;) {
    const auto part =
        static_cast<uint32_t>(std::min<uint64_t>(count - done, store_->run_limit(first + done)));
    const Status status = store_->release(first + done, part);
    if (!status.ok()) failure_->report(status);
    done += part;
  }
  add_free(first, count);
}

// Those of the slots that are in `born` are released; the others go to `left`.
void Slots::split(Slot first, uint64_t count, RunSet* born, RunSet* left) {
  born->in_parts(first, count, [&](Slot from, uint64_t slots, bool in) {
    if (in) {
      born->take_at(from, slots);
      release(from, slots);
    } else {
      left->add(from, slots);
    }
  });
}

void Slots::freeze() {
  snapshots_.emplace_back();
  store_->freeze(true);
}

void Slots::thaw(size_t snapshot) {
  no_more_ = false;
  Snapshot gone = std::move(snapshots_[snapshot]);
  snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(snapshot));
  Snapshot* const older = snapshot > 0 ? &snapshots_[snapshot - 1] : nullptr;
  Slot first = 0;
  while (const uint64_t count = gone.left.take(UINT64_MAX, &first)) {
    if (older != nullptr)
      split(first, count, &older->born, &older->left);
    else
      release(first, count);
  }
  while (const uint64_t count = older != nullptr ? gone.born.take(UINT64_MAX, &first) : 0)
    older->born.add(first, count);
  store_->freeze(any_frozen());
}

bool Slots::frozen(const Region& region, uint64_t first, uint64_t units) const {
  if (!any_frozen()) return false;
  const auto begin = region.slot_.begin() + static_cast<ptrdiff_t>(first);
  return std::any_of(begin, begin + static_cast<ptrdiff_t>(units),
                     [this](uint32_t slot) { return slot != 0 && !snapshots_.back().born.has(slot - 1); });
}

// Allocations have reserved a slot for each of their units, and those of a forked process come on top.
bool Slots::reserve_more() {
  const uint64_t wanted = std::min(count_, reserved_ + step());
  if (!any_frozen() || no_more_ || wanted == reserved_) return false;
  no_more_ = !store_->reserve(wanted).ok();
  if (no_more_) return false;
  add_free(reserved_, wanted - reserved_);
  reserved_ = wanted;
  return true;
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
