#include "pager/core/residency.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/clock.h"
#include "pager/pages/streams.h"
#include "pager/timer.h"

namespace tasuki::pager {
namespace {

constexpr uint64_t kSameTime = 64;  // pages that appeared between two that leave together
// Of the resident pages one in so many may be dropped together: they are gone then, and not in limbo.
constexpr uint64_t kDropOneIn = 16;
// Units of free buffers that may be too many, before and after some of them go back to the system together.
constexpr uint64_t kBuffersTooMany = 192, kBuffersKept = 64;

}  // namespace

Residency::Residency(const Options& options, Mapper* mapper, Slots* slots, Transport* transport,
                     WaitTimes* wait_times, Failure* failure)
    : copies_(options.copies),
      mapper_(mapper),
      slots_(slots),
      transport_(transport),
      wait_times_(wait_times),
      failure_(failure),
      page_limit_(mapper->page_limit()),
      budget_(options.local_bytes / unit_size(), options.page_bytes / unit_size(), options.replacement),
      victims_(&pages_, options.replacement) {}

PageId Residency::new_page(Region* region, uint64_t first, uint32_t units) {
  const PageId id = pages_.begin(region, first, units);
  victims_.begin(id);
  return id;
}

void Residency::end_page(PageId id) {
  victims_.end(id);
  pages_.end(id);
}

void Residency::adopt(Region* region, const std::vector<uint8_t>& present) {
  Pages::watch(region);
  Slots::watch(region);
  const uint64_t size =
      std::min<uint64_t>(region->fixed_page() != 0 ? region->fixed_page() : 16, budget_.largest_page());
  for (uint64_t first = 0; first < region->units();) {
    const uint64_t limit = std::min(region->units(), first - first % size + size);
    uint64_t end = first;
    while (end < limit && present[end] != 0 && protection(*region, end) == protection(*region, first)) end++;
    if (end == first) {
      first++;
      continue;
    }
    const PageId id = new_page(region, first, static_cast<uint32_t>(end - first));
    pages_[id].state.found();
    budget_.take(end - first);
    budget_.appear(end - first);
    victims_.found(id);
    first = end;
  }
}

bool Residency::abandon(Region* region) {
  if (!region->watched()) return true;
  for (uint64_t unit = 0; unit < region->units(); unit++) {
    const PageId id = region->page(unit);
    if (id != kNoPage && (transport_->under_way(id) || state(id) == State::arriving)) return false;
  }
  for (uint64_t unit = 0; unit < region->units(); unit++) {
    const PageId id = region->page(unit);
    if (id == kNoPage) continue;
    const Page& page = pages_[id];
    if (!page.state.resident()) {  // limbo
      drop(id);
      continue;
    }
    budget_.disappear(page.units);  // its memory goes with the region's
    budget_.give_back(page.units);
    end_page(id);
  }
  slots_->take(region, 0, region->units());
  return true;
}

bool Residency::cut(Region* region, uint64_t unit) {
  if (unit == 0 || unit >= region->units()) return true;
  const PageId id = region->page(unit);
  if (id == kNoPage || pages_[id].first == unit) return true;
  if (pages_[id].state.under_way()) return false;
  if (state(id) == State::limbo) {
    reclaim(id);
    return true;
  }
  mapper_->split(region->address(unit));
  victims_.split(id, pages_.split(id, unit));
  budget_.split();
  return true;
}

bool Residency::any_sent_from_place(const Region& region, uint64_t first, uint64_t end) const {
  for (uint64_t unit = first; unit < end && mapper_->leaves_in_place(); unit++)
    if (const PageId id = region.page(unit); id != kNoPage && state(id) == State::leaving) return true;
  return false;
}

bool Residency::any_inaccessible(const Region& region, uint64_t first, uint64_t end) const {
  return mapper_->protections().any_in(unit_of(region.address(first)), end - first, Protections::kNone);
}

bool Residency::clear(Region* region, uint64_t first, uint64_t end,
                      const std::function<void(uint64_t, uint64_t)>& left) {
  for (uint64_t unit = first, next = first; unit < end; unit = next) {
    const PageId id = region->page(unit);
    if (id == kNoPage) {
      while (next < end && region->page(next) == kNoPage) next++;
      slots_->take(region, unit, next - unit);
      continue;
    }
    Page& page = pages_[id];
    if (page.state.under_way()) return false;
    next = std::min(end, page.end());
    const bool whole = page.first >= first && page.end() <= end;
    if (whole && drop(id)) continue;
    if ((protection(*region, unit) & Protections::kWrite) != 0) {
      left(unit, next);
    } else {
      mapper_->clear(region->address(unit), static_cast<uint32_t>(next - unit));
      // There, for whoever pins it: it counts as resident.
      mapper_->wake(region->address(unit), static_cast<uint32_t>(next - unit));
      page.state.forget_stored();
    }
  }
  return true;
}

// A page that is resident or in limbo is gone with its bytes. False: it stays, as somebody holds or uses it.
bool Residency::drop(PageId id) {
  Page& page = pages_[id];
  if (page.state.resident()) {
    if (victims_.held(id) || victims_.busy(id)) return false;
    bool changed = false;
    const Status status = mapper_->unmap(page.at(), page.units, &page.pieces, &changed);
    if (!status.ok()) {
      if (!page.state.dirty()) page.state.forget_stored();
      if (status.err() != EBUSY) failure_->report(status);
      return false;
    }
    budget_.disappear(page.units);
  } else {
    limbo_.remove(id);
    budget_.leave_limbo(page.units);
  }
  mapper_->discard(page.at(), page.units, &page.pieces);
  budget_.give_back(page.units);
  Region* const region = page.region;
  const uint64_t first = page.first, units = page.units;
  end_page(id);
  slots_->take(region, first, units);
  return true;
}

PageId Residency::begin(Region* region, uint64_t first, uint32_t units, bool predicted_write) {
  const PageId id = new_page(region, first, units);
  Page& page = pages_[id];
  if (!mapper_->take(units, budget_.used(), &page.pieces)) {
    end_page(id);
    return kNoPage;
  }
  budget_.take(units);
  page.predicted_write = predicted_write;
  page.state.begin(region->stored(first));
  return id;
}

Action Residency::bring(PageId id, bool write, const Wait* wait) {
  Page& page = pages_[id];
  if (wait == nullptr) {
    prefetched_ += page.units;
    return act(id, page.state.prefetch());
  }
  page.waits.push_back(*wait);
  if (!page.state.stored()) first_touches_++;
  return act(id, page.state.fault(write));
}

Action Residency::fault(const Region& region, uint64_t unit, bool write, const Wait* wait) {
  const PageId id = region.page(unit);
  Page& page = pages_[id];
  if (page.state.resident()) {
    const Action action = page.state.fault(write);
    if (action == Action::unprotect) {
      write_faults_++;
      mapper_->unprotect(page.at(), page.units);
    } else {
      // A unit that was protected when the system swapped it out may come back so after it has moved.
      if (write) mapper_->unprotect(region.address(unit), 1);
      if (mapper_->wake(region.address(unit), 1))
        page.state.forget_stored();  // zeros now, by the program's own madvise
    }
    return action;
  }
  // Asked for while it is on its way, in or out, or in limbo.
  if (wait != nullptr) page.waits.push_back(*wait);
  if (page.state.state() != State::arriving) {
    rescues_++;
    budget_.rescue(page.units);
  }
  if (page.state.state() == State::limbo) {
    limbo_.remove(id);
    budget_.leave_limbo(page.units);
  }
  return act(id, page.state.fault(write));
}

// Does what the state machine says, and returns it.
Action Residency::act(PageId id, Action action) {
  Page& page = pages_[id];
  switch (action) {
    case Action::none:
    case Action::drop:
    case Action::wake:       // fault()
    case Action::unprotect:  // fault()
      break;
    case Action::zero:
      for (const Piece& p : page.pieces)
        if (!p.zero) memset(p.at, 0, p.units * unit_size());
      break;
    case Action::fetch:
      if (!leave_to_place(id)) transport_->start(id, page, Direction::in);
      break;
    case Action::map:
      appear(id);
      break;
    case Action::send:
      budget_.begin_send(page.units);
      transport_->start(id, page, Direction::out);
      break;
    case Action::keep:
      limbo_.push_back(id);
      budget_.enter_limbo(page.units);
      break;
  }
  return action;
}

bool Residency::leave_to_place(PageId id) {
  Page& page = pages_[id];
  if (!leaves_placing_ || placing_.id != kNoPage || !mapper_->places(page.units)) return false;
  const std::byte* const from = transport_->read_in_place(page);
  if (from == nullptr) return false;
  mapper_->give(&page.pieces);
  placing_ = {id, page.at(), from, page.units, page.predicted_write || page.state.wanted_write()};
  return true;
}

void Residency::placed(const Placing& placing) {
  Page& page = pages_[placing.id];
  received(placing.id);
  page.state.arrived();
  // Somebody may have come to write meanwhile.
  if (page.state.writable() && !placing.writable) mapper_->unprotect(placing.at, placing.units);
  if (placing.writable) page.state.map_writable();
  appeared(placing.id);
}

void Residency::appear(PageId id) {
  Page& page = pages_[id];
  if (!mapper_->maps_protected(page.units) || page.predicted_write) page.state.map_writable();
  Status status;
  {
    const Timer timer(&map_seconds_);
    status = page.unmapped ? mapper_->remap(page.at(), &page.pieces, page.state.writable())
                           : mapper_->map(page.at(), &page.pieces, page.state.writable());
  }
  if (!status.ok()) return failure_->report(status);
  appeared(id);
}

void Residency::appeared(PageId id) {
  Page& page = pages_[id];
  page.unmapped = false;
  budget_.appear(page.units);
  trim_buffers();
  if (page.waits.empty()) return victims_.appear(id, 0);
  const double now = os::monotonic_seconds();
  victims_.appear(id, now);
  wait_times_->served(page.waits, now);
  for (const Wait& wait : page.waits) wait.end();
  page.waits.clear();
}

void Residency::received(PageId id) {
  Page& page = pages_[id];
  if (!transport_->direct()) page.sent.remember(page.pieces);
  if (copies_ == Copies::exclusive) {
    slots_->take(page.region, page.first, page.units);
    page.state.forget_stored();
  }
}

void Residency::arrived(PageId id) {
  act(id, pages_[id].state.arrived());
}

void Residency::sent(PageId id) {
  Page& page = pages_[id];
  budget_.end_send(page.units);
  if (!transport_->direct()) page.sent.remember(page.pieces);
  act(id, page.state.sent());
}

bool Residency::evict(PageId id) {
  Page& page = pages_[id];
  // What a forked process reads stays where it is: changed bytes go elsewhere.
  const bool frozen = slots_->frozen(*page.region, page.first, page.units);
  if (victims_.busy(id)) return false;
  if (page.state.dirty() && !frozen && !give_slots(id)) {
    // Where a forked process has them, pages stay beyond the limit rather than that nobody goes on.
    if (slots_->any_frozen()) victims_.set_busy(id, os::monotonic_seconds());
    return false;
  }
  Status status;
  bool changed = false;
  {
    const Timer timer(&map_seconds_);
    status = mapper_->unmap(page.at(), page.units, &page.pieces, &changed);
  }
  if (status.err() == EBUSY) {
    // A part of it may have left and come back, and is not protected any more.
    if (!page.state.dirty()) page.state.forget_stored();
    victims_.set_busy(id, os::monotonic_seconds());
    return false;
  }
  victims_.leave(id);
  budget_.disappear(page.units);
  if (!status.ok()) {
    failure_->report(status);
    return true;
  }
  page.unmapped = true;
  if (changed && !page.state.dirty()) {
    page.state.forget_stored();
    if (!frozen && !give_slots(id)) {
      appear(id);
      return false;
    }
  }
  const bool same =
      page.state.stored() && page.state.dirty() &&
      (transport_->direct() ? frozen && transport_->equals(page) : page.sent.equals(page.pieces));
  if (frozen && page.state.dirty() && !same) {
    slots_->take(page.region, page.first, page.units);
    page.state.forget_stored();
    page.sent.forget();
    if (!give_slots(id)) {
      appear(id);
      victims_.set_busy(id, os::monotonic_seconds());
      return false;
    }
  }
  if (act(id, page.state.victim(same)) == Action::keep) drops_++;
  return true;
}

void Residency::join_neighbours(PageId id, double now) {
  // Fingerprints are of whole pages as they came.
  Page& page = pages_[id];
  const auto joins = [&](const Page& p) { return transport_->direct() || mapper_->maps_protected(p.units); };
  const uint64_t most = page.region->fixed_page() != 0
                            ? 0
                            : std::min<uint64_t>(Streams::kMaxStreamPage, budget_.largest_page());
  while (page.end() < page.region->units()) {
    const PageId next = page.region->page(page.end());
    if (next == kNoPage) return;
    const Page& other = pages_[next];
    if (!other.state.resident() || !victims_.may_leave(next, now) || page.units + other.units > most) return;
    // If it cannot leave after all, a write to a part of it that is protected must be known as such.
    if (page.state.writable() != other.state.writable() || !joins(page) || !joins(other)) return;
    if (protection(*page.region, page.first) != protection(*page.region, other.first)) return;
    // Those that came about when it did will leave about when it does.
    const uint64_t apart = victims_.apart(id, next);
    if (apart > kSameTime || apart > budget_.resident_pages() / 4) return;
    budget_.join();
    page.state.join(other.state);
    page.sent.forget();
    victims_.end(next);
    pages_.join(id, next);
  }
}

bool Residency::reclaim_one() {
  const PageId id = limbo_.front();
  if (id == kNoPage) return false;
  reclaim(id);
  return true;
}

// In limbo.
void Residency::reclaim(PageId id) {
  Page& page = pages_[id];
  limbo_.remove(id);
  budget_.leave_limbo(page.units);
  budget_.give_back(page.units);
  page.state.reclaim();
  mapper_->discard(page.at(), page.units, &page.pieces);
  // What went beyond the limit while pages were busy goes back to the system.
  if (budget_.full()) mapper_->trim(page.units);
  end_page(id);
}

bool Residency::drop_clean(double now) {
  uint64_t units = mapper_->most_dropped();
  uint64_t pages = std::max<uint64_t>(1, budget_.resident_pages() / kDropOneIn);
  if (units == 0) return false;
  leaving_.clear();
  dropped_.clear();
  for (; pages > 0; pages--) {
    const PageId id = victims_.next();
    if (id == kNoPage) break;
    const Page& page = pages_[id];
    if (page.state.dirty() || page.units > units || !victims_.may_leave(id, now)) break;
    if (victims_.newest(id)) break;  // whoever has brought it is about to use it
    victims_.leave(id);
    leaving_.push_back(id);
    dropped_.push_back({page.at(), page.units, false});
    units -= page.units;
  }
  if (leaving_.empty()) return false;
  Status status;
  {
    const Timer timer(&map_seconds_);
    status = mapper_->drop(dropped_.data(), dropped_.size());
  }
  if (!status.ok()) failure_->report(status);
  for (size_t i = 0; i < leaving_.size(); i++) {
    Page& page = pages_[leaving_[i]];
    if (dropped_[i].stays) {
      page.state.forget_stored();
      victims_.found(leaving_[i]);
      continue;
    }
    budget_.disappear(page.units);
    budget_.give_back(page.units);
    page.state.victim(true);
    page.state.reclaim();
    end_page(leaving_[i]);
    drops_++;
  }
  return true;
}

// Pages that are copied into place leave their buffers behind, and those that are dropped none.
void Residency::trim_buffers() {
  const uint64_t all = budget_.used() + mapper_->free_units();
  if (all > budget_.local() + kBuffersTooMany) mapper_->trim(all - budget_.local() - kBuffersKept);
}

// False: there are not enough; the page has what it had before.
bool Residency::give_slots(PageId id) {
  const Page& page = pages_[id];
  while (!slots_->give(page.region, page.first, page.units)) {
    if (steal_slots(id)) continue;
    if (!page.state.stored()) slots_->take(page.region, page.first, page.units);
    return false;
  }
  return true;
}

// Slots of a resident page: it is written back when it leaves, whatever the program does with it.
bool Residency::steal_slots(PageId except) {
  if (copies_ == Copies::cache) return false;
  for (size_t looked = 0; looked < pages_.records(); looked++) {
    steal_hand_ = steal_hand_ + 1 < pages_.records() ? steal_hand_ + 1 : 0;
    Page& page = pages_[steal_hand_];
    if (page.region == nullptr || steal_hand_ == except || !page.state.resident() ||
        !Slots::has_any(*page.region, page.first, page.units) ||
        slots_->frozen(*page.region, page.first, page.units))
      continue;
    slots_->take(page.region, page.first, page.units);
    page.state.forget_stored();
    page.sent.forget();
    return true;
  }
  return false;
}

void Residency::report(Stats* stats) const {
  stats->first_touches = first_touches_;
  stats->rescues = rescues_;
  stats->write_faults = write_faults_;
  stats->drops = drops_;
  stats->prefetched = prefetched_ * unit_size();
  stats->map_seconds = map_seconds_;
}

}  // namespace tasuki::pager
