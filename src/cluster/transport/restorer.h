// Makes the copies again that a lost server had (with an erasure code: computes its parts from others), and
// moves what a server has that leaves: segment by segment, from servers that are there to another one, at
// most a segment at a time beside the program's own transfers. Until then a segment is read and written
// where it is. While it is copied, whoever wants to write it waits (holds()).
//
// One thread at a time; memory as pager/own_memory.h says.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cluster/transport/courier.h"
#include "cluster/transport/places.h"
#include "cluster/transport/reed_solomon.h"
#include "cluster/transport/servers.h"
#include "cluster/transport/slot_set.h"

namespace tasuki::cluster {

class Restorer {
 public:
  static constexpr uint64_t kToken = UINT64_MAX;  // of its transfers

  // All outlive it. `code`: nullptr: a copy is the whole.
  Restorer(Places* places, Courier* courier, std::vector<Lender>* lenders, CopyTeam* team, size_t unit_bytes,
           const ReedSolomon* code);

  // What slots are in use: told before their puts, and when they are released. `moving`: whether transfers
  // of a segment are under way. False, and nothing is told: to be asked again when some of them are over.
  using Moving = std::function<bool(const Places::Segment&)>;
  bool use(uint64_t slot, uint32_t units, const Moving& moving);
  void release(uint64_t slot, uint32_t units) {
    used_.erase(slot, slot + units);
    places_->release(slot, units, used_);
  }
  const SlotSet& used() const { return used_; }
  // Of those in use, the first one of which too many servers are lost; slots(): none.
  uint64_t first_gone() const;
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
  // One of its transfers is over.
  void arrived() { over(false); }
  void lost() { over(true); }

 private:
  enum class Step { none, wait, read, reading, write, writing };
  bool next();
  void report();
  void tell_without(uint64_t one);
  void let_leave();
  void start_over();
  Status read();
  Status read_copies();
  void compute();
  Status write();
  void over(bool lost);
  struct Lacking {
    uint64_t copies, all;  // slots that lack copies, and that are gone
  };
  Lacking count() const;
  void end_segment(bool whole);

  Places* places_;
  Courier* courier_;
  std::vector<Lender>* lenders_;
  CopyTeam* team_;
  const ReedSolomon* code_;
  size_t whole_, unit_;  // bytes of a slot, and of it at one server
  SlotSet used_;
  pager::OwnVector<Range> fresh_;  // of use()
  pager::OwnVector<std::byte> buffer_;
  size_t next_ = 0;  // segments before this one are done
  Step step_ = Step::none;
  size_t index_ = 0;  // of the segment under way
  Places::Segment now_ = {};
  Places::Place to_ = {};
  uint64_t at_ = 0;  // up to here it is copied
  uint32_t units_ = 0;
  uint32_t copy_ = 0;             // that it gets
  ReedSolomon::Parts from_ = {};  // the copies that are read, behind each other in the buffer
  uint32_t reads_ = 0;            // so many
  uint32_t left_ = 0;             // transfers under way
  bool failed_ = false;           // one of them was lost
  uint64_t restored_ = 0;         // slots
  uint64_t moved_ = 0;            // of them from servers that leave
  bool told_ = true, told_without_ = false, no_room_ = false;
  bool again_ = false;                 // there was room since this round began
  pager::OwnVector<bool> told_stays_;  // of each server
  int64_t begin_ns_ = 0;
};

}  // namespace tasuki::cluster
