#include "pager/core/swaps.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "os/clock.h"

namespace tasuki::pager {

Swaps::Swaps(const Options& options, Residency* residency, Transport* transport, Failure* failure)
    : protocol_(options.protocol),
      residency_(residency),
      victims_(residency->victims()),
      transport_(transport),
      failure_(failure) {}

bool Swaps::bring(Region* region, uint64_t unit, const FetchPlan& plan, bool write, const Wait* wait) {
  const Budget& budget = residency_->budget();
  const bool stored = region->stored(unit);
  uint64_t first = unit, end = unit + 1;
  const uint64_t low = std::min(plan.first, unit),
                 high = std::min(region->units(), std::max(plan.first + plan.units, unit + 1));
  const int protection = residency_->protection(*region, unit);
  const auto joins = [&](uint64_t u) {
    return region->page(u) == kNoPage && region->stored(u) == stored &&
           residency_->protection(*region, u) == protection;
  };
  while (first > low && joins(first - 1)) first--;
  while (end < high && joins(end)) end++;
  if (end - first > budget.largest_page()) {  // a page for a larger memory
    first = std::max(first, unit - std::min<uint64_t>(unit, budget.local() / 16));
    end = std::min(end, unit + std::max<uint64_t>(1, budget.local() / 16));
  }
  auto units = static_cast<uint32_t>(end - first);
  if (!make_room(units)) {
    // When nothing is on its way that would make room, a page that somebody needs comes without its
    // neighbours.
    if (wait == nullptr || units == 1 || transport_->pages() > 0 || !make_room(1)) return false;
    first = unit;
    units = 1;
  }
  const PageId id = residency_->begin(region, first, units, plan.write);
  if (id == kNoPage) {
    if (budget.used() == 0)
      failure_->report(Status::error(ENOMEM, "the system has no memory for the pages that are to be local (" +
                                                 std::to_string(budget.local() * unit_size()) +
                                                 " bytes); give the pager less"));
    return false;
  }
  const Action action = residency_->bring(id, write, wait);
  if (action == Action::zero) {
    arrive(id);
    finish_swap();
  } else if (protocol_ == Protocol::cross) {
    evict_surplus();  // a page leaves while this one comes
  }
  return true;
}

bool Swaps::go_on(bool any) {
  for (PageId id; (id = transport_->next_complete()) != kNoPage;) {
    if (residency_->state(id) == State::arriving) {
      residency_->received(id);
      arrive(id);
    } else {
      residency_->sent(id);
    }
    finish_swap();
  }
  return any;
}

void Swaps::arrive(PageId id) {
  switch (protocol_) {
    case Protocol::ahead:
      residency_->arrived(id);
      break;
    case Protocol::as1:
    case Protocol::as2:
      residency_->arrived(id);
      evict_surplus();
      break;
    case Protocol::cs:
    case Protocol::cross:
      arrived_.push_back(id);
      evict_surplus();
      break;
  }
}

// cs, cross: the program goes on when nothing is on its way any more.
void Swaps::finish_swap() {
  while (!arrived_.empty() && transport_->pages() == 0) {
    const PageId id = arrived_.back();
    arrived_.pop_back();
    residency_->arrived(id);
  }
}

// Of what is resident nothing may leave, nor is anything on its way that could: all of it is pinned, kept or
// busy.
bool Swaps::all_stay() const {
  const Victims& victims = *victims_;
  const Budget& budget = residency_->budget();
  return transport_->pages() == 0 && budget.limbo() == 0 &&
         budget.resident() <= victims.busy_units() + victims.held_units();
}

// False: there is nothing to evict, for now.
bool Swaps::evict_one() {
  const double now = os::monotonic_seconds();
  Victims& victims = *victims_;
  victims.retry_busy(now);
  if (residency_->drop_clean(now)) return true;
  for (uint64_t looked = 0; looked <= residency_->budget().resident(); looked++) {
    const PageId id = victims.next();
    if (id == kNoPage) return false;
    if (victims.may_leave(id, now)) {
      residency_->join_neighbours(id, now);
      if (residency_->evict(id)) return true;
      if (victims.busy(id)) continue;
    }
    victims.skip(id);
  }
  return false;
}

// The protocols with one swap at a time keep one page's worth of memory free, so that the page that comes and
// the one that goes can both be here.
void Swaps::evict_surplus() {
  while (failure_->ok() && residency_->budget().has_surplus())
    if (!evict_one()) break;
}

// False: memory is on its way, or all of it is pinned.
bool Swaps::make_room(uint32_t units) {
  const Budget& budget = residency_->budget();
  // Is what is leaving already counted on? Not by a thread that makes its own copies: what is leaving then is
  // another thread's to copy, and may take long.
  const bool waits = !transport_->direct() || transport_->leaves_copies();
  while (failure_->ok()) {
    const uint64_t used = budget.used();
    if (residency_->at_page_limit()) {  // those in limbo have their mappings too
      if (residency_->reclaim_one() || (!waits && collect())) continue;
      if ((!waits || budget.leaving() == 0) && !evict_one()) return false;
    } else {
      if (budget.has_room(units)) return true;
      if (residency_->reclaim_one() || (!waits && collect())) continue;
      // No more than is needed: whoever waits asks again and again. Who waits may be the one that keeps pages
      // busy, and lets go only when it has this page too: where nothing else can leave, what is busy is not
      // counted.
      if (!budget.has_room(units, waits ? budget.leaving() : 0) && !evict_one()) {
        const uint64_t busy = victims_->busy_units();
        return busy > 0 && all_stay() && budget.has_room(units, busy);
      }
    }
    if (budget.limbo() > 0 || budget.used() < used) continue;
    if (waits) return false;
  }
  return false;
}

bool Swaps::keep_room(uint64_t allocated, uint64_t more) {
  const Budget& budget = residency_->budget();
  if (one_at_a_time() || allocated <= budget.local()) return false;
  if (budget.exceeded() && residency_->reclaim_one()) return true;
  // Where slots are scarce, all that is free is counted on for what comes and goes.
  if (!residency_->has_slots(budget.local() / 4)) more = 0;
  keeping_room_ = budget.wants_eviction(victims_->held_units(), keeping_room_, more);
  return keeping_room_ && evict_one();
}

}  // namespace tasuki::pager
