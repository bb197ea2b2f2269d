#include "pager/core/advisor.h"

#include <algorithm>
#include <cerrno>

namespace tasuki::pager {

Status Advisor::advise(void* p, size_t bytes, Advice advice) {
  Status status;
  uint64_t promised = 0;
  commands_->run([&] {
    Region* region = regions_.of(p);
    const auto offset =
        region == nullptr ? 0 : static_cast<size_t>(static_cast<std::byte*>(p) - region->at());
    if (region == nullptr || bytes > region->units() * unit_size() - offset) {
      status = Status::error(EINVAL, "not a range of one allocation in cluster memory");
      promised_units_ -= promised;  // freed meanwhile
      return true;
    }
    if (advice <= Advice::random) region->locality()->advice = advice;
    if (!region->watched()) return true;  // everything is local: nothing to do but remember
    const uint64_t first = offset / unit_size(), end = (offset + bytes + unit_size() - 1) / unit_size();
    switch (advice) {
      case Advice::sequential:
      case Advice::random:
        break;
      case Advice::normal:
        keep_no_more(*region, first, end);
        break;
      case Advice::will_need:
        read_ahead_->will_need(*region, first, end - first);
        break;
      case Advice::done_with:
        evict(*region, first, end);
        break;
      case Advice::keep_local:
        return keep(region, first, end, &promised, &status);
    }
    return true;
  });
  return status;
}

void Advisor::keep_no_more(const Region& region, uint64_t first, uint64_t end) {
  for (uint64_t unit = first; unit < end; unit++)
    if (region.page(unit) != kNoPage) victims_->hold(region.page(unit), false, 0);
}

// Pages that lie in the range as a whole.
void Advisor::evict(const Region& region, uint64_t first, uint64_t end) {
  for (uint64_t unit = first; unit < end; unit++) {
    const PageId id = region.page(unit);
    if (id == kNoPage || residency_->state(id) != State::resident || victims_->held(id)) continue;
    const Page& page = residency_->page(id);
    if (page.first >= first && page.end() <= end && !residency_->evict(id)) return;
  }
}

bool Advisor::keep(Region* region, uint64_t first, uint64_t end, uint64_t* promised, Status* status) {
  if (residency_->any_inaccessible(*region, first, end)) {
    if (*promised > 0) keep_no_more(*region, first, end);
    promised_units_ -= *promised;
    *status = Status::error(ENOMEM, "memory that may not be accessed cannot be kept local");
    return true;
  }
  uint64_t more = 0;
  for (uint64_t unit = first; unit < end; unit++)
    more += region->page(unit) == kNoPage || !victims_->kept(region->page(unit));
  // What others were granted counts too: two that wait for each other's memory would wait for ever.
  if (more > 0 && *promised == 0 &&
      victims_->kept_units() + promised_units_ + more > residency_->budget().local() / 2) {
    *status = Status::error(ENOMEM, "more than half of the local memory cannot be kept local");
    return true;
  }
  promised_units_ += more - *promised;
  *promised = more;
  const Wait nobody;  // no thread of the program
  for (uint64_t unit = first; unit < end; unit++) {
    if (region->page(unit) == kNoPage) {
      FetchPlan plan;
      plan.first = unit;
      plan.units = static_cast<uint32_t>(std::min<uint64_t>(end - unit, Streams::kStreamPage));
      if (!swaps_->bring(region, unit, plan, false, &nobody)) return false;
    } else if (residency_->state(region->page(unit)) != State::resident) {
      residency_->fault(*region, unit, false, nullptr);
    }
    victims_->hold(region->page(unit), true, 0);
  }
  promised_units_ -= *promised;
  return true;
}

}  // namespace tasuki::pager
