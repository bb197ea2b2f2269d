// What happens to a page: faults, transfers, eviction, and the order of these that the protocols ask for (DLM-MPI, section 3.3).
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "pager/core/engine.h"

namespace tasuki::pager {
namespace {

// Transfers of pages that nobody waits for; more would stand in the way of one that somebody does.
constexpr uint32_t kAheadInFlight = 8;

constexpr uint64_t kSameTime = 64;  // pages that appeared between two that leave together

// So long a page stays that a thread was woken for: with more threads than pages each would find its page gone again. Matters where
// all of the local memory is exchanged in this time.
constexpr double kGrace = 300e-6;

// So long a page is left alone whose physical memory somebody outside used when it was to leave, and so many of them are tried again for
// each page that leaves: they may be much of the memory, and each attempt costs a microsecond.
constexpr double kBusy = 2e-3;
constexpr int kBusyAgain = 4;

class Timer {
 public:
  explicit Timer(double* sum) : sum_(sum), begin_(seconds()) {}
  ~Timer() { *sum_ += seconds() - begin_; }

 private:
  double* sum_;
  double begin_;
};

std::byte* address(const Region* region, uint64_t unit) {
  return region->at + unit * kUnit;
}

void hash_of(const Pieces& pieces, uint64_t hash[2]) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  for (const Piece& p : pieces) XXH3_128bits_update(&state, p.at, p.units * kUnit);
  const XXH128_hash_t h = XXH3_128bits_digest(&state);
  hash[0] = h.low64;
  hash[1] = h.high64;
}

}  // namespace

PageId Engine::new_page(Region* region, uint64_t first, uint32_t units) {
  PageId id;
  if (free_pages_.empty()) {
    id = static_cast<PageId>(pages_.size());
    pages_.emplace_back();
  } else {
    id = free_pages_.back();
    free_pages_.pop_back();
  }
  Page& page = pages_[id];
  page.region = region;
  page.first = first;
  page.units = units;
  page.state = PageState();
  page.demanded = page.listed = page.predicted_write = page.hashed = page.unmapped = page.kept = false;
  page.keep = page.transfers = 0;
  page.busy = 0;
  page.alive = true;
  for (uint64_t i = first; i < first + units; i++) region->page[i] = id;
  return id;
}

void Engine::end_page(PageId id) {
  Page& page = pages_[id];
  for (uint64_t i = page.first; i < page.first + page.units; i++) page.region->page[i] = kNoPage;
  hold(id, false, -static_cast<int>(page.keep));
  set_busy(id, 0);
  unlist(id);
  page.alive = false;
  page.pieces.clear();
  page.waits.clear();
  free_pages_.push_back(id);
}

// Pages that are kept are not with the replacement policy; pinned ones are, as they are few and soon let go.
void Engine::list(PageId id) {
  Page& page = pages_[id];
  if (page.listed || page.kept || page.busy != 0) return;
  policy_->add(id, reinterpret_cast<uintptr_t>(address(page.region, page.first)));
  page.listed = true;
}

void Engine::unlist(PageId id) {
  if (pages_[id].listed) policy_->remove(id);
  pages_[id].listed = false;
}

// False: the fault must wait until something else is over.
bool Engine::serve(Fault* fault) {
  const os::FaultEvent& event = fault->event;
  Region* region = region_of(reinterpret_cast<void*>(event.address));
  if (region == nullptr || !region->watched) {  // freed meanwhile: the program's own mistake
    mapper_->wake(reinterpret_cast<std::byte*>(event.address & ~(kUnit - 1)), 1);
    return true;
  }
  const uint64_t unit = (event.address - reinterpret_cast<uintptr_t>(region->at)) / kUnit;
  if (fault->waited) {
    const double now = seconds();
    stats_.wait_previous += now - fault->since;
    fault->since = now;
  }
  fault->waited = true;
  const Wait wait{event.thread, fault->since};
  const PageId id = region->page[unit];
  if (id != kNoPage) {
    Page& page = pages_[id];
    page.demanded = true;
    if (page.state.state != State::resident) {
      page.waits.push_back(wait);
      rescue(id, event.write);
      return true;
    }
    const Action action = page.state.fault(event.write);
    if (action == Action::unprotect) stats_.write_faults++;
    if (action == Action::wake) {
      if (mapper_->wake(address(region, unit), 1))
        page.state.forget_stored();  // zeros now, by the program's own madvise
      return true;
    }
    act(id, action);
    return true;
  }
  if (single_swap() && (in_flight_ > 0 || !arrived_.empty())) return false;
  if (!fault->planned) fault->plan = streams_.fault(region->id, &region->locality, unit, event.write);
  fault->planned = true;
  if (!bring(region, unit, fault->plan, event.write, &wait)) return false;
  plan_ahead(region, fault->plan);
  return true;
}

// Asked for while it is on its way, in or out, or in limbo.
void Engine::rescue(PageId id, bool write) {
  Page& page = pages_[id];
  if (page.state.state == State::limbo || page.state.state == State::leaving) stats_.rescues++;
  if (page.state.state == State::limbo) {
    limbo_.remove(id);
    limbo_units_ -= page.units;
  }
  act(id, page.state.fault(write));
}

void Engine::plan_ahead(Region* region, const FetchPlan& plan) {
  if (plan.ahead_units == 0) return;
  if (ahead_.size() >= 128) ahead_.pop_front();
  const uint32_t page = plan.stride != 0 ? plan.units : std::max(plan.page, plan.units);
  const uint64_t first = plan.stride != 0 ? plan.first : plan.ahead_first;
  ahead_.push_back({region->id, first, plan.ahead_units, page, plan.backward, plan.write, plan.stride});
}

// One page of what was planned.
bool Engine::read_ahead() {
  if (ahead_.empty() || !deferred_.empty() || coming_.pages >= kAheadInFlight) return false;
  Ahead rest = ahead_.front();
  Region* region = region_by_id_.at(rest.region);
  FetchPlan plan;
  plan.write = rest.write;
  if (rest.stride != 0) {
    const int64_t first = static_cast<int64_t>(rest.first) + rest.stride;
    if (first < 0 || static_cast<uint64_t>(first) >= region->units) {
      ahead_.pop_front();
      return true;
    }
    rest.units--;
    rest.first = plan.first = static_cast<uint64_t>(first);
    plan.units = rest.page;
  } else {
    plan.units = std::min(rest.page, rest.units);
    plan.first = rest.backward ? rest.first + rest.units - plan.units : rest.first;
    rest.units -= plan.units;
    if (!rest.backward) rest.first += plan.units;
  }
  // What lies between units that are here already comes piece by piece.
  const uint64_t end = std::min(region->units, plan.first + plan.units);
  for (uint64_t unit = plan.first; unit < end; unit++) {
    const PageId id = region->page[unit];
    if (id != kNoPage) {
      unit = pages_[id].first + pages_[id].units - 1;
    } else if (!bring(region, unit, plan, false, nullptr)) {
      // It was only a guess; where memory is on its way, it is still a good one.
      if (in_flight_ == 0) ahead_.pop_front();
      return false;
    } else {
      unit = pages_[region->page[unit]].first + pages_[region->page[unit]].units - 1;
    }
  }
  if (rest.units == 0 || plan.first >= region->units)
    ahead_.pop_front();
  else
    ahead_.front() = rest;
  return true;
}

// Starts to fetch (or zeroes) the page of the plan with `unit`, as far as its units are in the same state.
bool Engine::bring(Region* region, uint64_t unit, const FetchPlan& plan, bool write, const Wait* wait) {
  const bool stored = region->slot[unit] != 0;
  uint64_t first = unit, end = unit + 1;
  const uint64_t low = std::min(plan.first, unit),
                 high = std::min(region->units, std::max(plan.first + plan.units, unit + 1));
  const auto joins = [&](uint64_t u) {
    return region->page[u] == kNoPage && (region->slot[u] != 0) == stored;
  };
  while (first > low && joins(first - 1)) first--;
  while (end < high && joins(end)) end++;
  if (end - first > largest_page()) {  // a page for a larger memory
    first = std::max(first, unit - std::min<uint64_t>(unit, local_units_ / 16));
    end = std::min(end, unit + std::max<uint64_t>(1, local_units_ / 16));
  }
  auto units = static_cast<uint32_t>(end - first);
  if (!make_room(units)) {
    // When nothing is on its way that would make room, a page that somebody needs comes without its neighbours.
    if (wait == nullptr || units == 1 || in_flight_ > 0 || !make_room(1)) return false;
    first = unit;
    units = 1;
  }
  const PageId id = new_page(region, first, units);
  Page& page = pages_[id];
  if (!mapper_->take(units, &page.pieces)) {
    end_page(id);
    if (used_ == 0)
      fail(Status::error(ENOMEM, "the system has no memory for the pages that are to be local (" +
                                     std::to_string(options_.local_bytes) + " bytes); give the pager less"));
    return false;
  }
  used_ += units;
  page.demanded = wait != nullptr;
  page.predicted_write = plan.write;
  if (wait != nullptr) page.waits.push_back(*wait);
  page.state.state = stored ? State::remote : State::untouched;
  page.state.stored = stored;
  if (wait == nullptr) stats_.prefetched += units * kUnit;
  if (wait != nullptr && !stored) stats_.first_touches++;
  act(id, wait != nullptr ? page.state.fault(write) : page.state.prefetch());
  return true;
}

void Engine::act(PageId id, Action action) {
  Page& page = pages_[id];
  switch (action) {
    case Action::none:
      break;
    case Action::zero:
      for (const Piece& p : page.pieces)
        if (!p.zero) memset(p.at, 0, p.units * kUnit);
      completed(id);
      break;
    case Action::fetch:
      transfer(id, true);
      // The paper's cross protocol: a page leaves while this one comes.
      if (options_.protocol == Protocol::cross) evict_surplus();
      break;
    case Action::map:
      appear(id);
      break;
    case Action::unprotect:
      mapper_->unprotect(address(page.region, page.first), page.units);
      streams_.written(page.region->id, page.first);
      break;
    case Action::wake:
      mapper_->wake(address(page.region, page.first), page.units);
      break;
    case Action::send:
      leaving_units_ += page.units;
      transfer(id, false);
      break;
    case Action::keep:
      limbo_.push_back(id);
      limbo_units_ += page.units;
      break;
    case Action::drop:
      break;
  }
}

void Engine::appear(PageId id) {
  Page& page = pages_[id];
  if (!mapper_->maps_protected() || page.predicted_write) page.state.writable = page.state.dirty = true;
  Status status;
  {
    const Timer timer(&stats_.map_seconds);
    std::byte* at = address(page.region, page.first);
    status = page.unmapped ? mapper_->remap(at, &page.pieces, page.state.writable)
                           : mapper_->map(at, &page.pieces, page.state.writable);
  }
  if (!status.ok()) return fail(status);
  page.unmapped = false;
  page.born = appeared_++;
  resident_units_ += page.units;
  resident_pages_++;
  list(id);
  page.appeared = 0;
  if (!page.waits.empty()) {
    const double now = page.appeared = seconds();
    for (const Wait& w : page.waits) {
      const auto thread = threads_.find(w.thread);
      if (thread == threads_.end()) continue;  // no thread of the program: pin() or advise()
      stats_.wait_page += now - w.since;
      thread->second.wait_seconds += now - w.since;
    }
    page.waits.clear();
  }
}

// Slots and buffers are both in pieces: one transfer for each stretch that is whole in both.
void Engine::transfer(PageId id, bool in) {
  Page& page = pages_[id];
  const std::vector<uint32_t>& slots = page.region->slot;
  (in ? coming_ : going_).begin();
  page.transfers = 1;  // held until all are started
  in_flight_++;
  (in ? stats_.swaps_in : stats_.swaps_out)++;
  (in ? stats_.bytes_in : stats_.bytes_out) += page.units * kUnit;
  uint64_t unit = page.first;
  for (const Piece& piece : page.pieces) {
    for (uint32_t done = 0; done < piece.units;) {
      const Slot slot = slots[unit] - 1;
      const uint64_t limit = std::min<uint64_t>(piece.units - done, store_->run_limit(slot));
      uint32_t count = 1;
      while (count < limit && slots[unit + count] == slots[unit] + count) count++;
      std::byte* at = piece.at + done * kUnit;
      const Status status = in ? store_->get(slot, count, at, id) : store_->put(slot, count, at, id);
      if (!status.ok()) return fail(status);
      page.transfers++;
      done += count;
      unit += count;
    }
  }
  completed(id);
}

// A transfer of the page is over (or there was none to wait for).
void Engine::completed(PageId id) {
  Page& page = pages_[id];
  const bool travelled = page.transfers > 0;
  if (travelled && --page.transfers > 0) return;
  if (travelled) in_flight_--;
  if (page.state.state == State::arriving) {
    if (travelled) coming_.end();
    if (travelled && !store_->direct()) {
      hash_of(page.pieces, page.hash);
      page.hashed = true;
    }
    if (travelled && options_.copies == Copies::exclusive) {
      take_slots(page.region, page.first, page.units);
      page.state.forget_stored();
    }
    switch (options_.protocol) {
      case Protocol::ahead:
        act(id, page.state.arrived());
        break;
      case Protocol::as1:
      case Protocol::as2:
        act(id, page.state.arrived());
        evict_surplus();
        break;
      case Protocol::cs:
      case Protocol::cross:
        arrived_.push_back(id);
        evict_surplus();
        break;
    }
  } else if (page.state.state == State::leaving) {
    leaving_units_ -= page.units;
    going_.end();
    if (!store_->direct()) {
      hash_of(page.pieces, page.hash);
      page.hashed = true;
    }
    act(id, page.state.sent());
  }
  while (!arrived_.empty() && in_flight_ == 0) {
    const PageId arrived = arrived_.back();
    arrived_.pop_back();
    act(arrived, pages_[arrived].state.arrived());
  }
}

bool Engine::same_as_stored(Page* page) const {
  if (!page->state.stored || !page->hashed || !page->state.dirty) return false;
  uint64_t hash[2];
  hash_of(page->pieces, hash);
  return hash[0] == page->hash[0] && hash[1] == page->hash[1];
}

// Pages behind this one that came about when it did will leave about when it does: they leave together, as one. What a page costs
// hardly depends on its size.
void Engine::join_neighbours(PageId id, double young) {
  Page& page = pages_[id];
  const uint64_t most =
      page.region->locality.fixed != 0 ? 0 : std::min<uint64_t>(Streams::kMaxStreamPage, largest_page());
  for (;;) {
    const uint64_t next = page.first + page.units;
    if (next >= page.region->units) return;
    const PageId other_id = page.region->page[next];
    if (other_id == kNoPage) return;
    Page& other = pages_[other_id];
    if (other.state.state != State::resident || other.keep > 0 || other.kept || other.busy != 0 ||
        other.appeared >= young || page.units + other.units > most)
      return;
    const uint64_t apart = other.born > page.born ? other.born - page.born : page.born - other.born;
    if (apart > kSameTime || apart > resident_pages_ / 4) return;
    unlist(other_id);
    resident_pages_--;
    page.state.dirty = page.state.dirty || other.state.dirty;
    page.state.stored = page.state.stored && other.state.stored;
    page.hashed = false;
    const uint32_t units = other.units;
    end_page(other_id);
    for (uint64_t i = next; i < next + units; i++) page.region->page[i] = id;
    page.units += units;
  }
}

// False: there is no slot for it.
bool Engine::evict(PageId id) {
  Page& page = pages_[id];
  if (page.busy != 0 || (page.state.dirty && !give_slots(&page))) return false;
  Status status;
  bool discarded = false;
  {
    const Timer timer(&stats_.map_seconds);
    status = mapper_->unmap(address(page.region, page.first), page.units, &page.pieces, &discarded);
  }
  if (status.err() == EBUSY) {
    set_busy(id, seconds());
    return false;
  }
  unlist(id);
  resident_units_ -= page.units;
  resident_pages_--;
  if (!status.ok()) {
    fail(status);
    return true;
  }
  page.unmapped = true;
  if (discarded && !page.state.dirty) {  // zeros now, which the store does not have
    page.state.forget_stored();
    if (!give_slots(&page)) {
      appear(id);
      return false;
    }
  }
  const Action action = page.state.victim(!store_->direct() && same_as_stored(&page));
  if (action == Action::keep) stats_.drops++;
  act(id, action);
  return true;
}

// Busy pages are not with the replacement policy, but in a list of their own, oldest first.
void Engine::set_busy(PageId id, double since) {
  Page& page = pages_[id];
  if ((since != 0) == (page.busy != 0)) return;
  page.busy = since;
  if (since != 0) {
    unlist(id);
    busy_.push_back(id);
    busy_units_ += page.units;
  } else {
    busy_.remove(id);
    busy_units_ -= page.units;
    if (page.state.state == State::resident) list(id);
  }
}

// Of what is resident nothing may leave, nor is anything on its way that could: all of it is pinned, kept or busy.
bool Engine::all_stay() const {
  return in_flight_ == 0 && limbo_units_ == 0 && resident_units_ <= busy_units_ + held_units_;
}

// False: there is nothing to evict, for now.
bool Engine::evict_one() {
  const double now = seconds(), young = now - kGrace;
  for (int i = 0; i < kBusyAgain && busy_.size() > 0 && pages_[busy_.front()].busy < now - kBusy; i++)
    set_busy(busy_.front(), 0);
  for (uint64_t looked = 0; looked <= resident_units_; looked++) {
    const PageId id = policy_->next();
    if (id == kNoPage) return false;
    if (pages_[id].keep == 0 && pages_[id].appeared < young) {
      // Hashes are of whole pages as they came.
      if (store_->direct() || mapper_->maps_protected()) join_neighbours(id, young);
      if (evict(id)) return true;
      if (pages_[id].busy != 0) continue;
    }
    policy_->remove(id);
    policy_->add(id, reinterpret_cast<uintptr_t>(address(pages_[id].region, pages_[id].first)));
  }
  return false;
}

// The protocols with one swap at a time keep one page's worth of memory free, so that the page that comes and the one that goes can both
// be here.
void Engine::evict_surplus() {
  while (failure_.ok() && used_ - limbo_units_ - leaving_units_ + spare_ > local_units_)
    if (!evict_one()) break;
}

bool Engine::reclaim_one() {
  const PageId id = limbo_.front();
  if (id == kNoPage) return false;
  Page& page = pages_[id];
  limbo_.remove(id);
  limbo_units_ -= page.units;
  used_ -= page.units;
  page.state.reclaim();
  mapper_->discard(address(page.region, page.first), page.units, &page.pieces);
  // What went beyond the limit while pages were busy goes back to the system.
  if (used_ >= local_units_) mapper_->trim(page.units);
  end_page(id);
  return true;
}

// False: memory is on its way, or all of it is pinned.
bool Engine::make_room(uint32_t units) {
  while (failure_.ok()) {
    if (pages_.size() - free_pages_.size() >= page_limit_) {  // those in limbo have their mappings too
      if (reclaim_one()) continue;
      if (leaving_units_ == 0 && !evict_one()) return false;
      if (limbo_units_ > 0) continue;
      if (!store_->direct()) return false;
      progress();
      continue;
    }
    if (used_ + units <= local_units_) return true;
    if (reclaim_one()) continue;
    // No more than is needed: whoever waits asks again and again. Who waits may be the one that keeps pages busy, and lets go only when
    // it has this page too: where nothing else can leave, what is busy is not counted.
    if (used_ + units > local_units_ + leaving_units_ && !evict_one())
      return busy_units_ > 0 && all_stay() && used_ + units <= local_units_ + busy_units_;
    if (limbo_units_ > 0) continue;
    if (!store_->direct()) return false;
    progress();
  }
  return false;
}

// Memory that is free at once when the next fault comes.
bool Engine::keep_room() {
  if (single_swap() || allocated_units_ <= local_units_) return false;
  if (used_ > local_units_ && reclaim_one()) return true;
  const uint64_t most_free = local_units_ + limbo_units_ + leaving_units_,
                 free = most_free - std::min(used_, most_free);
  // Of what may leave, at most a half: else what little there is beside kept and pinned pages would leave before it was used.
  const uint64_t most = (local_units_ - std::min(local_units_, held_units_)) / 2;
  if (free >= std::min(high_, most) || (free >= low_ && !filling_)) {
    filling_ = false;
    return false;
  }
  filling_ = true;
  return evict_one();
}

// False: there are none; the page has what it had before.
bool Engine::give_slots(Page* page) {
  std::vector<uint32_t>& slots = page->region->slot;
  for (uint64_t unit = page->first; unit < page->first + page->units;) {
    if (slots[unit] != 0) {
      unit++;
      continue;
    }
    uint64_t end = unit + 1;
    while (end < page->first + page->units && slots[end] == 0) end++;
    uint64_t first = 0, count = 0;
    if (unit > 0 && slots[unit - 1] != 0) {  // next to its neighbour, so that they can travel together
      first = slots[unit - 1];
      count = free_slots_.take_at(first, end - unit);
    }
    if (count == 0) count = free_slots_.take(end - unit, &first);
    if (count == 0) {
      if (steal_slots(page)) continue;
      if (!page->state.stored) take_slots(page->region, page->first, page->units);
      return false;
    }
    for (uint64_t i = 0; i < count; i++) slots[unit + i] = static_cast<uint32_t>(first + i + 1);
    unit += count;
  }
  return true;
}

void Engine::take_slots(Region* region, uint64_t first, uint64_t units) {
  for (uint64_t unit = first; unit < first + units;) {
    const uint32_t slot = region->slot[unit];
    if (slot == 0) {
      unit++;
      continue;
    }
    uint64_t count = 1;
    while (unit + count < first + units && region->slot[unit + count] == slot + count) count++;
    for (uint64_t done = 0; done < count;) {
      const auto part =
          static_cast<uint32_t>(std::min<uint64_t>(count - done, store_->run_limit(slot - 1 + done)));
      const Status status = store_->release(slot - 1 + done, part);
      if (!status.ok()) fail(status);
      done += part;
    }
    free_slots_.add(slot - 1, count);
    std::fill_n(region->slot.begin() + static_cast<ptrdiff_t>(unit), count, 0);
    unit += count;
  }
}

// keep_local and pins: pages that may not leave, counted once.
void Engine::hold(PageId id, bool keep, int pins) {
  Page& page = pages_[id];
  const bool before = page.kept || page.keep > 0;
  if (keep != page.kept) kept_units_ += keep ? page.units : -uint64_t{page.units};
  page.kept = keep;
  page.keep += static_cast<uint32_t>(pins);
  const bool after = page.kept || page.keep > 0;
  if (after != before) held_units_ += after ? page.units : -uint64_t{page.units};
  if (keep)
    unlist(id);
  else if (page.state.state == State::resident)
    list(id);
}

// Slots of a resident page: it is written back when it leaves, whatever the program does with it.
bool Engine::steal_slots(const Page* except) {
  if (options_.copies == Copies::cache) return false;
  for (size_t looked = 0; looked < pages_.size(); looked++) {
    steal_hand_ = steal_hand_ + 1 < pages_.size() ? steal_hand_ + 1 : 0;
    Page& page = pages_[steal_hand_];
    if (!page.alive || &page == except || page.state.state != State::resident) continue;
    const auto first = page.region->slot.begin() + static_cast<ptrdiff_t>(page.first);
    if (std::all_of(first, first + page.units, [](uint32_t slot) { return slot == 0; })) continue;
    take_slots(page.region, page.first, page.units);
    page.state.forget_stored();
    page.hashed = false;
    return true;
  }
  return false;
}

}  // namespace tasuki::pager
