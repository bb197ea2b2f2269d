#include "cluster/transport/restorer.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/log.h"
#include "os/clock.h"

namespace tasuki::cluster {

Restorer::Restorer(Places* places, Courier* courier, std::vector<Lender>* lenders, CopyTeam* team,
                   size_t unit_bytes, const ReedSolomon* code)
    : places_(places),
      courier_(courier),
      lenders_(lenders),
      team_(team),
      code_(code),
      whole_(unit_bytes),
      unit_(unit_bytes / places->needed()),
      used_(places->slots()),
      told_stays_(lenders->size(), false) {}

// Slots that had no contents, and do not have all their places: those cost no copy now.
bool Restorer::use(uint64_t slot, uint32_t units, const Moving& moving) {
  bool alone = false;
  fresh_.clear();
  for (uint64_t at = slot; places_->segments() > 0 && at < slot + units;) {
    const size_t index = places_->segment_of(at);
    const Places::Segment here = places_->segment(index);
    const Range part = {at, std::min(here.end, slot + units) - at};
    const bool fresh = used_.first_in(here.begin, here.end).empty();
    used_.insert(at, at + part.units);  // none of the next ones takes its places
    at = here.end;
    if ((busy() && index == index_) || !fresh) continue;
    fresh_.push_back(part);
    Places::Place place;
    while (places_->copy_to_place(index) < places_->copies() && places_->take(index, used_, &place))
      places_->move_in(index, place);
    const auto fixed = [&](const Places::Segment& s) {
      return (busy() && s.begin == now_.begin) || moving(s);
    };
    bool later = false;
    while (places_->gone(index) && (places_->take_of_leaving(index, &place) ||
                                    places_->take_from_others(index, used_, fixed, &place, &later)))
      places_->move_in(index, place);
    if (places_->gone(index) && later) {
      for (const Range& r : fresh_) used_.erase(r.slot, r.slot + r.units);
      return false;
    }
    no_room_ = no_room_ || places_->copy_to_place(index) < places_->copies();
    alone = alone || places_->copy_lost(index) < places_->copies();
  }
  if (places_->segments() == 0) used_.insert(slot, slot + units);
  if (alone && !told_without_ && next_ == places_->segments()) tell_without(count().copies);
  return true;
}

Restorer::Lacking Restorer::count() const {
  Lacking lacking = {};
  for (size_t i = 0; i < places_->segments(); i++) {
    if (places_->copy_lost(i) == places_->copies()) continue;
    const Places::Segment here = places_->segment(i);
    const uint64_t slots = used_.count(here.begin, here.end);
    (places_->gone(i) ? lacking.all : lacking.copies) += slots;
  }
  return lacking;
}

uint64_t Restorer::first_gone() const {
  for (size_t i = 0; i < places_->segments(); i++) {
    const Places::Segment here = places_->segment(i);
    const SlotSet::Stretch used = used_.first_in(here.begin, here.end);
    if (places_->gone(i) && !used.empty()) return used.begin;
  }
  return places_->slots();
}

// Once for each loss.
void Restorer::tell_without(uint64_t slots) {
  if (told_without_ || slots == 0) return;
  told_without_ = true;
  log(LogLevel::warning, "cluster memory: %s have %s",
      bytes_text(slots * whole_, BytesStyle::rounded).c_str(),
      code_ != nullptr ? "less than all their parts now: there is no room for the others"
                       : "one copy now: there is no room for another");
}

void Restorer::begin() {
  told_without_ = false;
  start_over();
}

void Restorer::try_again() {
  if (busy() || due())
    again_ = true;
  else if (no_room_)
    start_over();
}

void Restorer::start_over() {
  next_ = 0;
  no_room_ = false;
  if (told_) begin_ns_ = os::monotonic_ns();
  told_ = false;
}

// The next segment that needs a copy elsewhere, and can have one. It is looked at again then: it may need
// two.
bool Restorer::next() {
  for (; next_ < places_->segments(); next_++) {
    if (places_->copy_to_place(next_) == places_->copies()) continue;
    const Places::Segment here = places_->segment(next_);
    if (used_.first_in(here.begin, here.end).empty()) {
      if (!places_->empty_leaving(next_, used_)) no_room_ = true;
      continue;
    }
    if (places_->gone(next_)) continue;
    if (!places_->take(next_, used_, &to_)) {
      no_room_ = true;
      continue;
    }
    index_ = next_;
    copy_ = places_->copy_to_place(index_);
    places_->hold(index_);
    now_ = here;
    at_ = here.begin;
    step_ = Step::wait;
    return true;
  }
  return false;
}

void Restorer::report() {
  if (told_) return;
  told_ = true;
  const double seconds = static_cast<double>(os::monotonic_ns() - begin_ns_) / 1e9;
  const Lacking left = count();
  if (moved_ > 0)
    log(LogLevel::warning, "cluster memory: %s were moved to the servers that stay, in %.1f s",
        bytes_text(moved_ * unit_, BytesStyle::rounded).c_str(), seconds);
  if (restored_ > 0)
    log(LogLevel::warning, "cluster memory: %s were %s the servers left, in %.1f s: %s %s again",
        bytes_text(restored_ * unit_, BytesStyle::rounded).c_str(),
        code_ != nullptr ? "computed from what is at" : "copied from", seconds,
        left.copies + left.all > 0 ? "they have" : "all of it has",
        code_ != nullptr ? "all parts" : "two copies");
  tell_without(left.copies);
  restored_ = moved_ = 0;
  let_leave();
}

void Restorer::let_leave() {
  for (uint32_t server = 0; server < lenders_->size(); server++) {
    if (!courier_->leaves(server) || !courier_->alive(server)) continue;
    const uint64_t slots = places_->slots_at(server);
    if (places_->leaves(server) && slots == 0) {
      courier_->lose(server, " leaves", "nothing of this program is there any more");
      places_->lose(server);  // nothing is to be placed there in the meantime
    } else if (!told_stays_[server]) {
      told_stays_[server] = true;
      const std::string why = places_->leaves(server) ? "others have no room for " +
                                                            bytes_text(slots * unit_, BytesStyle::rounded)
                                                      : std::string("there are too few others");
      log(LogLevel::warning, "memory server %s is asked to leave, but stays as long as this program: %s",
          (*lenders_)[server].name.c_str(), why.c_str());
    }
  }
}

Status Restorer::go_on(const Moving& writing) {
  for (;;) {
    switch (step_) {
      case Step::none:
        if (next()) break;
        if (again_ && no_room_) {
          again_ = false;
          start_over();
          break;
        }
        again_ = false;
        report();
        return {};
      case Step::wait:
        if (writing(now_)) return {};
        step_ = Step::read;
        break;
      case Step::read:
        if (const Status status = read(); !status.ok()) return status;
        break;
      case Step::write:
        return write();
      case Step::reading:
      case Step::writing:
        return {};
    }
  }
}

Status Restorer::read() {
  const SlotSet::Stretch used = used_.first_in(at_, now_.end);
  if (used.empty()) {
    end_segment(true);
    return {};
  }
  if (places_->gone(index_)) {  // others were lost meanwhile
    end_segment(false);
    return {};
  }
  at_ = used.begin;
  units_ = static_cast<uint32_t>(used.end - used.begin);
  reads_ = 0;
  if (places_->has(index_, copy_)) {
    from_[reads_++] = static_cast<uint8_t>(copy_);
  } else {
    for (uint32_t copy = 0; reads_ < places_->needed(); copy++)
      if (places_->has(index_, copy)) from_[reads_++] = static_cast<uint8_t>(copy);
  }
  return read_copies();
}

Status Restorer::read_copies() {
  const size_t bytes = units_ * unit_;
  buffer_.resize((reads_ > 1 ? reads_ + 1 : 1) * bytes);  // the result stands behind them
  step_ = Step::reading;
  left_ = reads_;
  failed_ = false;
  for (uint32_t i = 0; i < reads_; i++) {
    const Places::Place from = places_->find(at_, from_[i]);
    std::byte* const to = buffer_.data() + i * bytes;
    Lender& lender = (*lenders_)[from.server];
    lender.bytes_in += bytes;
    if (lender.window == nullptr) {
      const Status status = courier_->get(from.server, from.slot, units_, to, kToken);
      if (!status.ok()) return status;
    } else {
      lender.window->get(from.slot, units_, to, team_);
      arrived();
    }
  }
  return {};
}

void Restorer::compute() {
  if (reads_ == 1) return;
  const size_t bytes = units_ * unit_;
  const std::byte* from[Redundancy::kMostNeeded];
  for (uint32_t i = 0; i < reads_; i++) from[i] = buffer_.data() + i * bytes;
  code_->compute(copy_, bytes, from_, from, buffer_.data() + reads_ * bytes);
}

Status Restorer::write() {
  const uint64_t slot = to_.slot + at_ - now_.begin;
  Lender& lender = (*lenders_)[to_.server];
  const std::byte* const from = buffer_.data() + (reads_ > 1 ? reads_ * units_ * unit_ : 0);
  lender.bytes_out += units_ * unit_;
  step_ = Step::writing;
  left_ = 1;
  failed_ = false;
  if (lender.window == nullptr) return courier_->put(to_.server, slot, units_, from, kToken);
  if (lender.window->put(slot, units_, from, team_).ok()) {
    arrived();
  } else {  // its host has no memory left: one copy has to do
    end_segment(false);
    places_->avoid(to_.server);
  }
  return {};
}

void Restorer::over(bool lost) {
  failed_ = failed_ || lost;
  if (--left_ > 0) return;
  if (failed_) return end_segment(false);  // begin() makes another round
  if (step_ == Step::writing) {
    at_ += units_;
    (places_->has(index_, copy_) ? moved_ : restored_) += units_;
    step_ = Step::read;
  } else {
    compute();
    step_ = Step::write;
  }
}

void Restorer::end_segment(bool whole) {
  step_ = Step::none;
  places_->hold(Places::nothing());
  if (places_->lost(to_.server)) return;
  if (whole)
    places_->move_in(index_, copy_, to_);
  else
    places_->give_back(index_, to_);
}

}  // namespace tasuki::cluster
