// What a program or a system call's wrapper asks for by name: advice and pins.
#include <algorithm>

#include "pager/core/engine.h"

namespace tasuki::pager {
namespace {

const Wait kNobody;  // no thread of the program

}  // namespace

Page* Engine::page_of(const Region* region, uint64_t unit) {
  const PageId id = region->page[unit];
  return id == kNoPage ? nullptr : &pages_[id];
}

Status Engine::advise(void* p, size_t bytes, Advice advice) {
  Status status;
  uint64_t promised = 0;  // keep_local: units that it was granted and does not hold yet
  run([&] {
    Region* region = region_of(p);
    const auto offset = region == nullptr ? 0 : static_cast<size_t>(static_cast<std::byte*>(p) - region->at);
    if (region == nullptr || bytes > region->units * kUnit - offset) {
      status = Status::error(EINVAL, "not a range of one allocation in cluster memory");
      promised_units_ -= promised;  // freed meanwhile
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
          if (region->page[unit] != kNoPage) hold(region->page[unit], false, 0);
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
          if (pages_[id].first >= first && pages_[id].first + pages_[id].units <= end && !evict(id)) break;
        }
        break;
      case Advice::keep_local: {
        uint64_t more = 0;
        for (uint64_t unit = first; unit < end; unit++) {
          const Page* page = page_of(region, unit);
          more += page == nullptr || !page->kept;
        }
        // What others were granted counts too: two that wait for each other's memory would wait for ever.
        if (more > 0 && promised == 0 && kept_units_ + promised_units_ + more > local_units_ / 2) {
          status = Status::error(ENOMEM, "more than half of the local memory cannot be kept local");
          return true;
        }
        promised_units_ += more - promised;
        promised = more;
        for (uint64_t unit = first; unit < end; unit++) {
          const PageId id = region->page[unit];
          if (id == kNoPage) {
            FetchPlan plan;
            plan.first = unit;
            plan.units = static_cast<uint32_t>(std::min<uint64_t>(end - unit, Streams::kStreamPage));
            if (!bring(region, unit, plan, false, &kNobody)) return false;
          } else if (pages_[id].state.state != State::resident) {
            rescue(id, false);
          }
          hold(region->page[unit], true, 0);
        }
        promised_units_ -= promised;
        break;
      }
    }
    return true;
  });
  return status;
}

size_t Engine::pin(const void* p, size_t bytes, bool write) {
  // A quarter of the local memory for all pins together, but never nothing: the call it is for would not go on.
  const auto* begin = static_cast<const std::byte*>(p);
  const auto* end = begin + std::min(bytes, local_units_ / 4 * kUnit);
  const auto* next = begin;  // pinned up to here
  Fault fault;
  run([&] {
    while (next < end) {
      const auto* to = end;  // of this piece
      Region* region = region_and_end(next, &to);
      if (region == nullptr) {
        next = to;
        continue;
      }
      const uint64_t unit = static_cast<uint64_t>(next - region->at) / kUnit;
      if (!region->watched) {
        // Touched now, so that what is pinned is there when the region comes to be watched.
        const auto last = static_cast<uint64_t>(to - 1 - region->at) / kUnit;
        for (uint64_t u = unit; u <= last; u++) *reinterpret_cast<volatile char*>(region->at + u * kUnit);
        region->pins.emplace_back(unit, last + 1);
        next = to;
        continue;
      }
      Page* page = page_of(region, unit);
      const bool ready =
          page != nullptr && page->state.state == State::resident && (!write || page->state.writable);
      if (!ready) {
        const bool waits =
            page != nullptr && (page->state.state == State::arriving || page->state.state == State::leaving);
        if (waits) {
          page->state.fault(write);
          return false;
        }
        if (fault.event.address != reinterpret_cast<uintptr_t>(next)) fault = Fault();
        fault.event.address = reinterpret_cast<uintptr_t>(next);
        fault.event.write = write;
        fault.since = seconds();
        if (!serve(&fault)) return false;
        continue;
      }
      if (page->keep == 0 && !page->kept) {
        const uint64_t others = held_units_ - kept_units_;  // pages that only pins hold
        // An eighth is left for everybody's faults: whoever would take it waits for others to unpin.
        if (others > 0 && held_units_ + page->units > local_units_ - local_units_ / 8) {
          if (next == begin) return false;
          end = next;
          break;
        }
        // Beyond the quarter one unit at a time, so that every call goes on.
        if (others + page->units > local_units_ / 4)
          end = std::min<const std::byte*>(end, region->at + (unit + 1) * kUnit);
      }
      hold(region->page[unit], page->kept, 1);
      next = std::min<const std::byte*>(region->at + (unit + 1) * kUnit, to);
    }
    return true;
  });
  return static_cast<size_t>(end - begin);
}

void Engine::unpin(const void* p, size_t bytes) {
  run([&] {
    const auto* end = static_cast<const std::byte*>(p) + bytes;
    for (const auto* next = static_cast<const std::byte*>(p); next < end;) {
      const auto* to = end;
      if (Region* region = region_and_end(next, &to)) unpin_piece(region, next, to);
      next = to;
    }
    return true;
  });
}

void Engine::unpin_piece(Region* region, const std::byte* from, const std::byte* to) {
  const auto first = static_cast<uint64_t>(from - region->at) / kUnit,
             end = static_cast<uint64_t>(to - 1 - region->at) / kUnit + 1;
  if (!region->watched) {
    const auto pin = std::find(region->pins.begin(), region->pins.end(), std::pair(first, end));
    if (pin != region->pins.end()) region->pins.erase(pin);
    return;
  }
  for (uint64_t unit = first; unit < end; unit++)
    if (Page* page = page_of(region, unit); page != nullptr && page->keep > 0)
      hold(region->page[unit], page->kept, -1);
}

// The region at `at`, or none; *end becomes where it ends, or where the next one begins, if that is sooner.
Region* Engine::region_and_end(const std::byte* at, const std::byte** end) {
  Region* region = region_of(at);
  if (region != nullptr) {
    *end = std::min<const std::byte*>(*end, region->at + region->units * kUnit);
  } else if (const auto after = regions_.upper_bound(reinterpret_cast<uintptr_t>(at));
             after != regions_.end()) {
    *end = std::min(*end, reinterpret_cast<const std::byte*>(after->first));
  }
  return region;
}

}  // namespace tasuki::pager
