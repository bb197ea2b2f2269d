#include "cluster/transport/restorer.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/log.h"
#include "os/clock.h"

namespace tasuki::cluster {

Restorer::Restorer(Places* places, Courier* courier, std::vector<Lender>* lenders, CopyTeam* team,
                   size_t unit_bytes)
    : places_(places),
      courier_(courier),
      lenders_(lenders),
      team_(team),
      unit_(unit_bytes),
      used_(places->slots()),
      told_stays_(lenders->size(), false) {}

// Slots that had no contents, and do not have two places: those cost no copy now.
void Restorer::use(uint64_t slot, uint32_t units, const Moving& moving) {
  bool alone = false;
  for (uint64_t at = slot; places_->segments() > 0 && at < slot + units;) {
    const size_t index = places_->segment_of(at);
    const Places::Segment here = places_->segment(index);
    at = here.end;
    if ((busy() && index == index_) || !used_.first_in(here.begin, here.end).empty()) continue;
    Places::Place place;
    while (places_->copy_to_place(index) < places_->copies() && places_->take(index, used_, &place))
      places_->move_in(index, place);
    const auto fixed = [&](const Places::Segment& s) {
      return (busy() && s.begin == now_.begin) || moving(s);
    };
    if (places_->copy_left(index) == places_->copies() &&
        (places_->take_of_leaving(index, &place) || places_->take_from_others(index, used_, fixed, &place)))
      places_->move_in(index, place);
    no_room_ = no_room_ || places_->copy_to_place(index) < places_->copies();
    alone = alone || places_->copy_lost(index) < places_->copies();
  }
  used_.insert(slot, slot + units);
  if (alone && !told_without_ && next_ == places_->segments()) tell_without(count().one);
}

Restorer::Copies Restorer::count() const {
  Copies copies = {};
  for (size_t i = 0; i < places_->segments(); i++) {
    if (places_->copy_lost(i) == places_->copies()) continue;
    const Places::Segment here = places_->segment(i);
    const uint64_t slots = used_.count(here.begin, here.end);
    (places_->copy_left(i) < places_->copies() ? copies.one : copies.none) += slots;
  }
  return copies;
}

uint64_t Restorer::first_without_copy() const {
  for (size_t i = 0; i < places_->segments(); i++) {
    const Places::Segment here = places_->segment(i);
    const SlotSet::Stretch used = used_.first_in(here.begin, here.end);
    if (places_->copy_left(i) == places_->copies() && !used.empty()) return used.begin;
  }
  return places_->slots();
}

// Once for each loss.
void Restorer::tell_without(uint64_t one) {
  if (told_without_ || one == 0) return;
  told_without_ = true;
  log(LogLevel::warning, "cluster memory: %s have one copy now: there is no room for another",
      bytes_text(one * unit_, BytesStyle::rounded).c_str());
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
    if (places_->copy_to_place(next_) == places_->copies() || places_->copy_left(next_) == places_->copies())
      continue;
    const Places::Segment here = places_->segment(next_);
    if (used_.first_in(here.begin, here.end).empty()) {
      if (!places_->empty_leaving(next_, used_)) no_room_ = true;
      continue;
    }
    if (!places_->take(next_, used_, &to_)) {
      no_room_ = true;
      continue;
    }
    index_ = next_;
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
  const Copies left = count();
  if (moved_ > 0)
    log(LogLevel::warning, "cluster memory: %s were moved to the servers that stay, in %.1f s",
        bytes_text(moved_ * unit_, BytesStyle::rounded).c_str(), seconds);
  if (restored_ > 0)
    log(LogLevel::warning, "cluster memory: %s were copied from the servers left, in %.1f s: %s",
        bytes_text(restored_ * unit_, BytesStyle::rounded).c_str(), seconds,
        left.one + left.none > 0 ? "they have two copies again" : "all of it has two copies again");
  tell_without(left.one);
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
  const uint32_t copy = places_->copy_left(index_);
  if (copy == places_->copies()) {  // that one is lost, too
    end_segment(false);
    return {};
  }
  at_ = used.begin;
  units_ = static_cast<uint32_t>(used.end - used.begin);
  buffer_.resize(units_ * unit_);
  const Places::Place from = places_->find(at_, copy);
  Lender& lender = (*lenders_)[from.server];
  lender.bytes_in += units_ * unit_;
  if (lender.window != nullptr) {
    lender.window->get(from.slot, units_, buffer_.data(), team_);
    step_ = Step::write;
    return {};
  }
  step_ = Step::reading;
  return courier_->get(from.server, from.slot, units_, buffer_.data(), kToken);
}

Status Restorer::write() {
  const uint64_t slot = to_.slot + at_ - now_.begin;
  Lender& lender = (*lenders_)[to_.server];
  lender.bytes_out += units_ * unit_;
  step_ = Step::writing;
  if (lender.window == nullptr) return courier_->put(to_.server, slot, units_, buffer_.data(), kToken);
  if (lender.window->put(slot, units_, buffer_.data(), team_).ok()) {
    arrived();
  } else {  // its host has no memory left: one copy has to do
    end_segment(false);
    places_->avoid(to_.server);
  }
  return {};
}

void Restorer::arrived() {
  if (step_ == Step::writing) {
    at_ += units_;
    (places_->copy_lost(index_) < places_->copies() ? restored_ : moved_) += units_;
  }
  step_ = step_ == Step::writing ? Step::read : Step::write;
}

// One of both servers is: begin() makes another round.
void Restorer::lost() {
  end_segment(false);
}

void Restorer::end_segment(bool whole) {
  step_ = Step::none;
  places_->hold(Places::nothing());
  if (places_->lost(to_.server)) return;
  if (whole)
    places_->move_in(index_, to_);
  else
    places_->give_back(index_, to_);
}

}  // namespace tasuki::cluster
