#include "pager/core/withdrawal.h"

#include <algorithm>
#include <cerrno>

namespace tasuki::pager {
namespace {

constexpr uint64_t kMostUnits = 64;  // that are read at once

}  // namespace

bool Withdrawal::complete(Region* region, Status* status) {
  for (uint64_t unit = 0; unit < region->units();) {
    const PageId id = region->page(unit);
    if (id == kNoPage) {
      uint64_t next = unit + 1;
      if (region->stored(unit) && !fill(*region, unit, &next)) {
        *status = Status::error(EBUSY, "a part of it is away and cannot come beyond the limit");
        return true;
      }
      unit = next;
      continue;
    }
    if (residency_->page(id).state.under_way()) return false;
    if (residency_->state(id) == State::limbo) residency_->fault(*region, unit, true, nullptr);
    unit = residency_->page(id).end();
  }
  return true;
}

// Units that have no page, from the store to their place. *next: behind them.
bool Withdrawal::fill(const Region& region, uint64_t unit, uint64_t* next) {
  if (!store_->can_read_aside() || !mapper_->fills()) return false;
  uint64_t units = 1;
  while (units < kMostUnits && unit + units < region.units() && region.page(unit + units) == kNoPage &&
         region.stored(unit + units))
    units++;
  Slot slot;
  const uint32_t run = slots_->run(region, unit, units, &slot);
  OwnVector<std::byte> bytes(run * kUnit);
  *next = unit + run;
  return store_->read_aside(slot, run, bytes.data()) &&
         mapper_->fill(region.address(unit), bytes.data(), run).ok();
}

}  // namespace tasuki::pager
