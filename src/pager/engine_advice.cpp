// What a program or a system call's wrapper asks for by name: advice and pins.
#include <algorithm>

#include "pager/engine.h"

namespace tasuki::pager {

Status Engine::advise(void* p, size_t bytes, Advice advice) {
  Status status;
  run([&] {
    Region* region = region_of(p);
    const auto offset = region == nullptr ? 0 : static_cast<size_t>(static_cast<std::byte*>(p) - region->at);
    if (region == nullptr || bytes > region->units * kUnit - offset) {
      status = Status::error(EINVAL, "not a range of one allocation in cluster memory");
      return true;
    }
    if (!region->watched) {  // everything is local: nothing to do but remember
      if (advice <= Advice::random) region->locality.advice = advice;
      return true;
    }
    const uint64_t first = offset / kUnit, end = (offset + bytes + kUnit - 1) / kUnit;
    switch (advice) {
      case Advice::sequential:
      case Advice::random:
        region->locality.advice = advice;
        break;
      case Advice::normal:
        region->locality.advice = advice;
        for (uint64_t unit = first; unit < end; unit++)
          if (region->page[unit] != kNoPage && pages_[region->page[unit]].kept) {
            Page& page = pages_[region->page[unit]];
            page.kept = false;
            kept_units_ -= page.units;
            if (page.state.state == State::resident) list(region->page[unit]);
          }
        break;
      case Advice::will_need: {
        const uint64_t most = local_units_ - std::min(local_units_, high_ + spare_);
        const auto units = static_cast<uint32_t>(std::min({end - first, most, uint64_t{UINT32_MAX}}));
        ahead_.push_back({region->id, first, units,
                          region->locality.fixed != 0 ? region->locality.fixed : Streams::kStreamPage, false,
                          false, 0});
        break;
      }
      case Advice::done_with:
        for (uint64_t unit = first; unit < end; unit++) {
          const PageId id = region->page[unit];
          if (id == kNoPage || pages_[id].state.state != State::resident || pages_[id].keep > 0 ||
              pages_[id].kept)
            continue;
          if (pages_[id].first >= first && pages_[id].first + pages_[id].units <= end) evict(id);
        }
        break;
      case Advice::keep_local:
        if (kept_units_ + (end - first) > local_units_ / 2) {
          status = Status::error(ENOMEM, "more than half of the local memory cannot be kept local");
          return true;
        }
        for (uint64_t unit = first; unit < end; unit++) {
          PageId id = region->page[unit];
          if (id == kNoPage) {
            FetchPlan plan;
            plan.first = unit;
            plan.units = static_cast<uint32_t>(std::min<uint64_t>(end - unit, Streams::kStreamPage));
            if (!bring(region, unit, plan, false, nullptr)) return false;
            id = region->page[unit];
          }
          if (!pages_[id].kept) {
            unlist(id);
            pages_[id].kept = true;
            kept_units_ += pages_[id].units;
          }
        }
        break;
    }
    return true;
  });
  return status;
}

size_t Engine::pin(const void* p, size_t bytes, bool write) {
  // A quarter of the local memory for all pins together, but never nothing: the call it is for would not go on.
  const auto* begin = static_cast<const std::byte*>(p);
  size_t length = 0;
  const auto* next = begin;  // pinned up to here
  Fault fault;
  run([&] {
    if (length == 0) {
      const uint64_t most = local_units_ / 4;
      length = std::min(bytes, std::max<size_t>(kUnit, (most - std::min(most, pinned_units_)) * kUnit));
    }
    while (next < begin + length) {
      Region* region = region_of(next);
      if (region == nullptr || !region->watched) {
        const auto after = regions_.upper_bound(reinterpret_cast<uintptr_t>(next));
        const auto* to = region != nullptr         ? region->at + region->units * kUnit
                         : after == regions_.end() ? begin + length
                                                   : reinterpret_cast<const std::byte*>(after->first);
        next = std::min(to, begin + length);
        continue;
      }
      const uint64_t unit = static_cast<uint64_t>(next - region->at) / kUnit;
      const PageId id = region->page[unit];
      const bool ready =
          id != kNoPage && pages_[id].state.state == State::resident && (!write || pages_[id].state.writable);
      if (!ready) {
        const bool waits = id != kNoPage && (pages_[id].state.state == State::arriving ||
                                             pages_[id].state.state == State::leaving);
        if (waits) pages_[id].state.fault(write);
        if (waits) return false;
        if (fault.event.address != reinterpret_cast<uintptr_t>(next)) fault = Fault();
        fault.event.address = reinterpret_cast<uintptr_t>(next);
        fault.event.write = write;
        fault.since = seconds();
        if (!serve(&fault)) return false;
        continue;
      }
      pages_[id].keep++;
      pinned_units_++;
      next = std::min<const std::byte*>(region->at + (unit + 1) * kUnit, begin + length);
    }
    return true;
  });
  return length;
}

void Engine::unpin(const void* p, size_t bytes) {
  run([&] {
    const auto* begin = static_cast<const std::byte*>(p);
    for (const std::byte* next = begin; next < begin + bytes;) {
      Region* region = region_of(next);
      if (region == nullptr || !region->watched) {
        const auto after = regions_.upper_bound(reinterpret_cast<uintptr_t>(next));
        const auto* to = region != nullptr         ? region->at + region->units * kUnit
                         : after == regions_.end() ? begin + bytes
                                                   : reinterpret_cast<const std::byte*>(after->first);
        next = std::min(to, begin + bytes);
        continue;
      }
      const uint64_t unit = static_cast<uint64_t>(next - region->at) / kUnit;
      const PageId id = region->page[unit];
      if (id != kNoPage && pages_[id].keep > 0) {
        pages_[id].keep--;
        pinned_units_--;
      }
      next = region->at + (unit + 1) * kUnit;
    }
    return true;
  });
}

}  // namespace tasuki::pager
