// The memory that others lend, as one store: by a courier or, on rank 0's own host, directly.
//
// A server that is lost is gone with what it kept, except where its memory is a window: that stays as long as
// rank 0 has it mapped. With two copies of each slot the program goes on with the other one, and the lost one
// is made again (restorer.h). A server that asks to leave may, as soon as the others have what it had.
//
// With an erasure code (page_parts.h) a copy is one part of the slot, and a transfer is one with as many
// servers as there are parts, or as are needed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/transport/courier.h"
#include "cluster/transport/page_parts.h"
#include "cluster/transport/places.h"
#include "cluster/transport/ranges.h"
#include "cluster/transport/restorer.h"
#include "cluster/transport/servers.h"
#include "pager/stores/left_copies.h"
#include "pager/stores/numbered.h"

namespace tasuki::cluster {

class ClusterStore final : public Servers {
 public:
  // `code`: if the redundancy is a coded one. lenders[i] is the courier's server i; both count in parts.
  // `threads` copy from and to windows.
  ClusterStore(std::vector<Lender> lenders, std::unique_ptr<Courier> courier, size_t unit_bytes, Fill fill,
               Redundancy redundancy, std::unique_ptr<ReedSolomon> code, uint32_t threads = 1);

  size_t unit_bytes() const override { return unit_; }
  size_t part_bytes() const override { return part_; }
  uint64_t slots() const override { return places_.slots(); }
  // Those from servers that may leave count as held for the program only as far as it needs them.
  uint64_t reserved() const override { return restorer_ ? places_.promised() : slots(); }
  Status reserve(uint64_t slots) override;
  uint64_t run_limit(pager::Slot slot) const override;
  Status get(pager::Slot slot, uint32_t units, std::byte* to, pager::Ticket ticket) override;
  Status put(pager::Slot slot, uint32_t units, const std::byte* from, pager::Ticket ticket) override;
  Status get_later(pager::Slot slot, uint32_t units, std::byte* to, pager::Ticket ticket) override;
  Status put_later(pager::Slot slot, uint32_t units, const std::byte* from, pager::Ticket ticket) override;
  const std::byte* read_in_place(pager::Slot slot, uint32_t units) override;
  // Of windows, which a child has as well, and by couriers that can.
  bool read_aside(pager::Slot slot, uint32_t units, std::byte* to) const override;
  bool can_read_aside() const override { return direct_ || courier_->can_read_aside(); }
  void freeze(bool frozen) override { places_.freeze(frozen); }
  Status copy_left() override;
  // Memory that was released is given back when it is more than kKeptBytes: a slot that is soon used again
  // costs nothing then.
  Status release(pager::Slot slot, uint32_t units) override;
  Status progress(pager::Tickets* completed) override;
  Status collect(pager::Tickets* completed) override;
  bool busy() const override { return due() || left_.busy() || courier_->busy(); }
  bool settled() const override { return under_way_ == 0 && held_.empty() && done_.empty() && !left_.busy(); }
  int longest_rest_ms() const override { return courier_->longest_rest_ms(); }
  int descriptor() const override { return due() ? -1 : courier_->descriptor(); }
  bool direct() const override { return direct_; }

  std::string describe(pager::Slot slot) const override;  // "slot 5 of rank 2 on host"

  const std::vector<Lender>& lenders() const override { return lenders_; }
  void finish() override;
  void goodbye(int exit_code, bool abruptly = false) override { courier_->goodbye(exit_code, abruptly); }
  void let_wait() override { courier_->let_wait(); }
  std::vector<int> lost() const override;

 private:
  static constexpr uint64_t kKeptBytes = 64 << 20;  // or a sixteenth of a small cluster
  static constexpr uint32_t kCallsBetweenLooks = 1024;
  static constexpr uint32_t kNone = UINT32_MAX;
  // A put that goes to two servers is complete when both are; a get that is lost is made again. Where slots
  // do not follow each other at their servers any more, a move consists of others.
  struct Move {
    pager::Ticket ticket;
    uint32_t left;  // 0: over
    pager::Slot slot;
    uint32_t units;
    std::byte* to;  // nullptr: a put
    uint32_t whole = kNone;
    uint32_t buffer = kNone;  // of one with an erasure code
    uint32_t have = 0;        // the parts that it gets
    bool failed = false;      // one of them was lost: it is made again
  };
  struct Held {
    pager::Slot slot;
    uint32_t units;
    const std::byte* from;
    pager::Ticket ticket;
  };
  Status copy_directly(const pager::LeftCopies::Copy& copy);
  void finish(uint32_t move);
  // Something is to be done in progress(), whether anything arrives or not.
  bool due() const {
    return !done_.empty() ||
           (restorer_ && (changes_to_note() || restorer_->due() || (!held_.empty() && !restorer_->busy())));
  }
  bool changes_to_note() const { return courier_->losses() != losses_ || courier_->leaving() != leaving_; }
  bool there(uint32_t server) const {
    return server < lenders_.size() && (lenders_[server].window != nullptr || courier_->alive(server));
  }
  bool holder(pager::Slot slot, Places::Place* place) const;
  bool is_gone(pager::Slot slot) const { return copies_to_get(slot) == 0; }
  template <class Start>
  Status in_parts(uint32_t move, Start start);
  Status fetch(uint32_t move);
  Status fetch_part(uint32_t move);
  uint32_t copies_to_get(pager::Slot slot, uint32_t but = 0) const;
  Status start_get(uint32_t move, const Places::Place& from, uint32_t units, std::byte* to);
  Status fetch_parts(uint32_t move);
  Status send_part(uint32_t move, const std::byte* from);
  Status lose(uint32_t move);
  bool read_parts_aside(pager::Slot slot, uint32_t units, std::byte* to) const;
  uint32_t take_buffer(size_t bytes);
  void give_buffer(uint32_t number);
  bool moving(const Places::Segment& segment, bool puts_only) const;
  Status note_changes();
  void decide_who_leaves();
  Status restore();
  Status lost_for_good(pager::Slot slot) const;
  void look_for_ended_servers();
  Status give_back(uint64_t keep);
  Status ask_servers();

  std::vector<Lender> lenders_;
  std::unique_ptr<Courier> courier_;
  size_t unit_, part_;                // bytes of a slot, and of a copy of it
  std::unique_ptr<PageParts> parts_;  // none: a copy is the whole
  Places places_;
  bool direct_;  // no server is asked by message
  CopyTeam team_;
  Ranges released_;  // not given back yet
  pager::Numbered<Move> moves_;
  pager::OwnVector<pager::OwnVector<std::byte>> buffers_;
  pager::OwnVector<uint32_t> free_buffers_;
  pager::OwnVector<uint32_t> again_;  // moves that failed
  uint64_t under_way_ = 0;            // moves that somebody asked for
  pager::Tickets done_;
  pager::LeftCopies left_;
  std::unique_ptr<Restorer> restorer_;  // none if direct_
  uint32_t losses_ = 0, leaving_ = 0;   // that it knows of
  pager::OwnVector<Held> held_;         // puts that wait for it
  std::vector<uint64_t> tokens_, lost_;
  uint32_t calls_ = 0;
  int64_t looked_ns_ = 0;
};

}  // namespace tasuki::cluster
