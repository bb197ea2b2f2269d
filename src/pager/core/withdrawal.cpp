#include "pager/core/withdrawal.h"

#include <algorithm>
#include <cerrno>

namespace tasuki::pager {
namespace {

constexpr uint64_t kMostUnits = 64;  // that are read at once

}  // namespace

bool Withdrawal::complete(Region* region, Status* status) {
  // First of all, as nobody keeps account of what is filled.
  for (uint64_t unit = 0; unit < region->units(); unit++)
    if (const PageId id = region->page(unit); id != kNoPage && residency_->page(id).state.under_way())
      return false;
  for (uint64_t unit = 0; unit < region->units();) {
    if (const PageId id = region->page(unit); id != kNoPage) {
      if (residency_->state(id) == State::limbo) residency_->fault(*region, unit, true, nullptr);
      unit = residency_->page(id).end();
      continue;
    }
    uint64_t next = unit + 1;
    if (region->stored(unit) && !fill(*region, unit, &next)) {
      *status = Status::error(EBUSY, "a part of it is away and cannot come beyond the limit");
      return true;
    }
    unit = next;
  }
  return true;
}

// Units that have no page, from the store to their place. *next: behind them.
bool Withdrawal::fill(const Region& region, uint64_t unit, uint64_t* next) {
  uint64_t units = 1;
  while (units < kMostUnits && unit + units < region.units() && region.page(unit + units) == kNoPage &&
         region.stored(unit + units))
    units++;
  Slot slot;
  const uint32_t run = slots_->run(region, unit, units, &slot);
  OwnVector<std::byte> bytes(run * unit_size());
  *next = unit + run;
  return store_->read_aside(slot, run, bytes.data()) &&
         mapper_->place(region.address(unit), bytes.data(), run, true).ok();
}

}  // namespace tasuki::pager
