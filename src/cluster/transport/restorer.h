// Makes the copies again that a lost server had, and moves what a server has that leaves: segment by
// segment, from a server that is there to another one, one transfer of at most a segment at a time beside the
// program's own. Until then a segment is read and written where it is. While it is copied, whoever wants to
// write it waits (holds()).
//
// One thread at a time; memory as pager/own_memory.h says.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cluster/transport/courier.h"
#include "cluster/transport/places.h"
#include "cluster/transport/servers.h"
#include "cluster/transport/slot_set.h"

namespace tasuki::cluster {

class Restorer {
 public:
  static constexpr uint64_t kToken = UINT64_MAX;  // of its transfers

  // All outlive it.
  Restorer(Places* places, Courier* courier, std::vector<Lender>* lenders, CopyTeam* team, size_t unit_bytes);

  // What slots are in use: told before their puts, and when they are released. `moving`: whether transfers
  // of a segment are under way.
  using Moving = std::function<bool(const Places::Segment&)>;
  void use(uint64_t slot, uint32_t units, const Moving& moving);
  void release(uint64_t slot, uint32_t units) {
    used_.erase(slot, slot + units);
    places_->release(slot, units, used_);
  }
  const SlotSet& used() const { return used_; }
  // Of those in use, the first one whose servers are all lost; slots(): none.
  uint64_t first_without_copy() const;
  // There is room again.
  void try_again();

  // After places->lose() or leave().
  void begin();
  bool busy() const { return step_ != Step::none; }
  // Waits for nobody but the next go_on().
  bool due() const {
    return step_ == Step::none ? next_ < places_->segments()
                               : step_ != Step::reading && step_ != Step::writing;
  }
  // Nothing may be put or released there now. May be asked of all slots at once.
  bool holds(uint64_t slot, uint64_t units) const {
    return step_ != Step::none && slot < now_.end && now_.begin < slot + units;
  }

  // To be called again and again. Of copies that it makes itself, one piece.
  Status go_on(const Moving& writing);
  // Its transfer is over.
  void arrived();
  void lost();

 private:
  enum class Step { none, wait, read, reading, write, writing };
  bool next();
  void report();
  void tell_without(uint64_t one);
  void let_leave();
  void start_over();
  Status read();
  Status write();
  struct Copies {
    uint64_t one, none;
  };
  Copies count() const;
  void end_segment(bool whole);

  Places* places_;
  Courier* courier_;
  std::vector<Lender>* lenders_;
  CopyTeam* team_;
  size_t unit_;
  SlotSet used_;
  pager::OwnVector<std::byte> buffer_;
  size_t next_ = 0;  // segments before this one are done
  Step step_ = Step::none;
  size_t index_ = 0;  // of the segment under way
  Places::Segment now_ = {};
  Places::Place to_ = {};
  uint64_t at_ = 0;  // up to here it is copied
  uint32_t units_ = 0;
  uint64_t restored_ = 0;  // slots
  uint64_t moved_ = 0;     // of them from servers that leave
  bool told_ = true, told_without_ = false, no_room_ = false;
  bool again_ = false;                 // there was room since this round began
  pager::OwnVector<bool> told_stays_;  // of each server
  int64_t begin_ns_ = 0;
};

}  // namespace tasuki::cluster
