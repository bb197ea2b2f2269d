#include "pager/core/pins.h"

#include <algorithm>
#include <cerrno>

#include "os/clock.h"

namespace tasuki::pager {

size_t Pins::pin(const void* p, size_t bytes, bool write) {
  // A quarter of the local memory for all pins together, but never nothing: the call it is for would not go
  // on.
  const auto* begin = static_cast<const std::byte*>(p);
  const size_t most = residency_->budget().local() / 4 * unit_size();
  Pinning pinning{begin, begin + std::min(bytes, most), begin, write};
  commands_->run([&] {
    const bool over = go_on(&pinning);
    note(&pinning);
    return over;
  });
  // Not all of it, if the pager has ended meanwhile: whoever touches the rest then waits for the process's
  // end.
  return static_cast<size_t>(std::min(pinning.next, pinning.end) - begin);
}

bool Pins::go_on(Pinning* p) {
  while (p->next < p->end) {
    const auto* to = p->end;  // of this piece
    Region* region = regions_.of(p->next, &to);
    if (region == nullptr) {
      p->next = to;
      continue;
    }
    if (!region->watched()) {
      pin_unwatched(*region, p->next, to);
      p->next = to;
      continue;
    }
    const uint64_t unit = region->unit_of(p->next);
    const int protection = residency_->protection(*region, unit);
    if (protection == Protections::kNone) {  // EFAULT is the kernel's to say
      p->next = std::min<const std::byte*>(region->address(unit + 1), to);
      continue;
    }
    const bool write = p->write && (protection & Protections::kWrite) != 0;
    const PageId id = region->page(unit);
    const bool ready = id != kNoPage && residency_->page(id).state.resident() &&
                       (!write || residency_->page(id).state.writable());
    if (!ready) {
      if (!fault(*region, write, p)) return false;
      continue;
    }
    if (!victims_->held(id)) {
      const uint64_t units = residency_->page(id).units, local = residency_->budget().local();
      const uint64_t others = victims_->held_units() - victims_->kept_units();  // pages that only pins hold
      // An eighth is left for everybody's faults: whoever would take it waits for others to unpin.
      if (others > 0 && victims_->held_units() + units > local - local / 8) {
        if (p->next == p->begin) return false;
        p->end = p->next;
        break;
      }
      // Beyond the quarter one unit at a time, so that every call goes on.
      if (others + units > local / 4) p->end = std::min<const std::byte*>(p->end, region->address(unit + 1));
    }
    victims_->hold(id, victims_->kept(id), 1);
    p->next = std::min<const std::byte*>(region->address(unit + 1), to);
  }
  return true;
}

// What it has pinned so far.
void Pins::note(Pinning* p) {
  if (p->next == p->begin) return;
  for (Pinned& pinned : pinned_)
    if (pinned.begin == p->begin && pinned.end == p->noted) {
      pinned.end = p->noted = p->next;
      return;
    }
  pinned_.push_back({p->begin, p->next});
  p->noted = p->next;
}

int Pins::pins_of(const Region& region, uint64_t first, uint64_t end) const {
  uint64_t pins = 0;
  const std::byte *const from = region.address(first), *const to = region.address(end);
  for (const Pinned& pinned : pinned_)
    if (pinned.begin < to && pinned.end > from)
      pins += region.unit_of(std::min(pinned.end, to) - 1) - region.unit_of(std::max(pinned.begin, from)) + 1;
  return static_cast<int>(pins);
}

bool Pins::cut(Region* region, uint64_t unit) {
  if (!residency_->cut(region, unit)) return false;
  for (const uint64_t u : {unit - 1, unit}) {
    const PageId id = u < region->units() ? region->page(u) : kNoPage;
    if (id == kNoPage || !victims_->pinned(id)) continue;
    const Page& page = residency_->page(id);
    const int pins = pins_of(*region, page.first, page.end());
    victims_->hold(id, victims_->kept(id), pins - static_cast<int>(victims_->pins(id)));
  }
  return true;
}

bool Pins::fault(const Region& region, bool write, Pinning* p) {
  const PageId id = region.page(region.unit_of(p->next));
  if (id != kNoPage && residency_->page(id).state.under_way()) {
    residency_->want(id, write);
    return false;
  }
  const auto address = reinterpret_cast<uintptr_t>(p->next);
  if (p->fault.event.address != address) p->fault = Fault();
  p->fault.event.address = address;
  p->fault.event.write = write;
  p->fault.since = os::monotonic_seconds();
  return loop_->serve(&p->fault);
}

// Touched now, so that what is pinned is there when the region comes to be watched.
void Pins::pin_unwatched(const Region& region, const std::byte* from, const std::byte* to) {
  const Range range(region.unit_of(from), region.unit_of(to - 1) + 1);
  for (uint64_t unit = range.first; unit < range.second; unit++)
    if (residency_->protection(region, unit) != Protections::kNone)
      *reinterpret_cast<volatile char*>(region.address(unit));
  unwatched_[region.id()].push_back(range);
}

void Pins::unpin(const void* p, size_t bytes) {
  commands_->run([&] {
    const auto* end = static_cast<const std::byte*>(p) + bytes;
    const auto note = std::find_if(pinned_.begin(), pinned_.end(), [&](const Pinned& pinned) {
      return pinned.begin == p && pinned.end == end;
    });
    if (note != pinned_.end()) pinned_.erase(note);
    for (const auto* next = static_cast<const std::byte*>(p); next < end;) {
      const auto* to = end;
      if (const Region* region = regions_.of(next, &to)) unpin_piece(*region, next, to);
      next = to;
    }
    return true;
  });
}

void Pins::unpin_piece(const Region& region, const std::byte* from, const std::byte* to) {
  const Range range(region.unit_of(from), region.unit_of(to - 1) + 1);
  if (!region.watched()) {
    std::vector<Range>& pins = unwatched_[region.id()];
    const auto pin = std::find(pins.begin(), pins.end(), range);
    if (pin != pins.end()) pins.erase(pin);
    return;
  }
  for (uint64_t unit = range.first; unit < range.second; unit++) {
    const PageId id = region.page(unit);
    if (id != kNoPage && victims_->pinned(id)) victims_->hold(id, victims_->kept(id), -1);
  }
}

Status Pins::hold(Region* region) {
  std::vector<Range>& pins = unwatched_[region->id()];
  while (!pins.empty()) {
    auto& [unit, end] = pins.back();
    for (; unit < end; unit++) {
      FetchPlan plan;
      plan.first = unit;
      plan.units = 1;
      const Wait nobody;
      if (residency_->protection(*region, unit) == Protections::kNone) continue;
      // There is room: everything fitted so far.
      if (region->page(unit) == kNoPage && !swaps_->bring(region, unit, plan, true, &nobody))
        return Status::error(ENOMEM, "no memory for what is pinned");
      victims_->hold(region->page(unit), false, 1);
    }
    pins.pop_back();
  }
  unwatched_.erase(region->id());
  return {};
}

}  // namespace tasuki::pager
