#include "pager/core/read_ahead.h"

#include <algorithm>

namespace tasuki::pager {
namespace {

// Transfers of pages that nobody waits for; more would stand in the way of one that somebody does.
constexpr uint32_t kInFlight = 8;

constexpr size_t kMost = 128;  // what streams announced earlier than that is out of date

}  // namespace

bool Ahead::next(uint64_t region_units, FetchPlan* plan) {
  plan->write = write;
  if (stride != 0) {
    const int64_t at = static_cast<int64_t>(first) + stride;
    if (at < 0 || static_cast<uint64_t>(at) >= region_units) return false;
    first = plan->first = static_cast<uint64_t>(at);
    plan->units = page;
    units--;
    return true;
  }
  plan->units = std::min(page, units);
  plan->first = backward ? first + units - plan->units : first;
  units -= plan->units;
  if (!backward) first += plan->units;
  return true;
}

void ReadAhead::follow(const Region& region, const FetchPlan& plan) {
  if (plan.ahead_units == 0) return;
  if (ahead_.size() >= kMost) ahead_.pop_front();
  const uint32_t page = plan.stride != 0 ? plan.units : std::max(plan.page, plan.units);
  const uint64_t first = plan.stride != 0 ? plan.first : plan.ahead_first;
  ahead_.push_back({region.id(), first, plan.ahead_units, page, plan.backward, plan.write, plan.stride});
}

void ReadAhead::will_need(const Region& region, uint64_t first, uint64_t units) {
  const uint64_t most = std::min<uint64_t>(residency_.budget().most_ahead(), UINT32_MAX);
  const uint32_t page = region.fixed_page() != 0 ? region.fixed_page() : Streams::kStreamPage;
  ahead_.push_back({region.id(), first, static_cast<uint32_t>(std::min(units, most)), page, false, false, 0});
}

void ReadAhead::forget(const Region& region) {
  std::erase_if(ahead_, [&](const Ahead& a) { return a.region == region.id(); });
}

bool ReadAhead::step() {
  if (ahead_.empty() || transport_.pages_in() >= kInFlight) return false;
  Ahead rest = ahead_.front();
  Region* region = regions_.with_id(rest.region);
  FetchPlan plan;
  if (!rest.next(region->units(), &plan)) {
    ahead_.pop_front();
    return true;
  }
  // What lies between units that are here already comes piece by piece.
  const uint64_t end = std::min(region->units(), plan.first + plan.units);
  for (uint64_t unit = plan.first; unit < end;) {
    if (residency_.protection(*region, unit) == Protections::kNone) {
      unit++;
      continue;
    }
    if (region->page(unit) == kNoPage && !swaps_->bring(region, unit, plan, false, nullptr)) {
      // It was only a guess; where memory is on its way, it is still a good one.
      if (transport_.pages() == 0) ahead_.pop_front();
      return false;
    }
    unit = residency_.page(region->page(unit)).end();
  }
  if (rest.units == 0 || plan.first >= region->units())
    ahead_.pop_front();
  else
    ahead_.front() = rest;
  return true;
}

}  // namespace tasuki::pager
