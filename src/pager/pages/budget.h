// The arithmetic of local memory, in units: how much there is, where it is, and how much of it is to be kept
// free.
//
//   used      has a buffer or is mapped: arriving + resident + leaving + limbo
//   spare     what the protocols with one swap at a time keep free, for the page that comes
//   low, high watermarks: eviction ahead of need begins below the first and ends at the second
//   credit    what may leave ahead of need, at most: see below
//
// A program that goes round in a little more than what is resident touches each page soon after it has left:
// it comes back from limbo, and another one leaves for it. Nothing comes from elsewhere, and yet all that is
// written is sent, round after round: NPB FT, with 19 % local, did not end in 150 s (plain: 1 s). So each
// page that comes back takes from the credit what its leaving had cost, and each that is new gives
// kNewIsWorth times as much: no more leaves in vain than that.
//
// Residency reports what happens to pages; everybody may ask.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pager/pager.h"

namespace tasuki::pager {

class Budget {
 public:
  // Pages of `page_units` (0: the pager chooses).
  Budget(uint64_t local, uint64_t page_units, ReplacementPolicy policy);

  uint64_t local() const { return local_; }
  uint64_t used() const { return used_; }
  uint64_t resident() const { return resident_; }
  uint64_t resident_pages() const { return resident_pages_; }
  uint64_t leaving() const { return leaving_; }
  uint64_t limbo() const { return limbo_; }
  // A page larger than this would leave too little beside it.
  uint64_t largest_page() const { return std::min<uint64_t>(local_ / 8, 512); }
  // What the program may ask for in advance without driving out what it has just asked for.
  uint64_t most_ahead() const { return local_ - std::min(local_, high_ + spare_); }
  // The units that can be allocated with so many slots.
  uint64_t capacity(uint64_t slots, Copies copies) const;

  // Would so many more units fit, if there were `beyond` units more than there are?
  bool has_room(uint64_t units, uint64_t beyond = 0) const { return used_ + units <= local_ + beyond; }
  bool full() const { return used_ >= local_; }
  bool exceeded() const { return used_ > local_; }
  // Is less than the spare free or on its way to be?
  bool has_surplus() const { return used_ - limbo_ - leaving_ + spare_ > local_; }
  // Should a page leave ahead of need? `held`: units that may not leave; `evicting`: that is what the last
  // answer was. `more` units are wanted beyond the usual.
  bool wants_eviction(uint64_t held, bool evicting, uint64_t more = 0) const;

  // A region with pages of so many units: room for one is spare.
  void prepare_for(uint64_t page_units) { spare_ = std::max(spare_, std::min(page_units, local_ / 4)); }
  void take(uint64_t units) {
    used_ += units;
    credit_ = std::min(high_, credit_ + kNewIsWorth * units);
  }
  void give_back(uint64_t units) { used_ -= units; }
  void appear(uint64_t units) {
    resident_ += units;
    resident_pages_++;
  }
  void disappear(uint64_t units) {
    resident_ -= units;
    resident_pages_--;
  }
  void join() { resident_pages_--; }   // two resident pages are one
  void split() { resident_pages_++; }  // or one is two
  // A page comes back that had left, or was about to, and was here all the time.
  void rescue(uint64_t units) { credit_ -= std::min(credit_, units); }
  void begin_send(uint64_t units) { leaving_ += units; }
  void end_send(uint64_t units) { leaving_ -= units; }
  void enter_limbo(uint64_t units) { limbo_ += units; }
  void leave_limbo(uint64_t units) { limbo_ -= units; }

 private:
  static constexpr uint64_t kNewIsWorth = 8;
  const uint64_t local_;
  uint64_t spare_, low_, high_, credit_;  // credit_ <= high_
  uint64_t used_ = 0, resident_ = 0, resident_pages_ = 0, leaving_ = 0, limbo_ = 0;
};

}  // namespace tasuki::pager
