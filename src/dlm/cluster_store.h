// The store of a job: the memory that its servers lend, by messages or, on rank 0's own host, directly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlm/courier.h"
#include "dlm/ranges.h"
#include "dlm/slot_map.h"
#include "dlm/window.h"
#include "pager/store.h"

namespace tasuki::dlm {

struct Lender {
  std::string name;  // "rank 1 on host"
  uint64_t slots = 0;
  std::unique_ptr<WindowMemory> window;  // nullptr: by messages
  uint64_t bytes_in = 0, bytes_out = 0;  // moved, seen from rank 0
};

class ClusterStore final : public pager::Store {
 public:
  // `copies`: of every slot, on different servers. lenders[i] is rank i + 1 of the courier's communicator.
  ClusterStore(std::vector<Lender> lenders, std::unique_ptr<Courier> courier, size_t unit_bytes, Fill fill,
               uint32_t copies);

  size_t unit_bytes() const override { return unit_; }
  uint64_t slots() const override { return map_.slots(); }
  uint64_t run_limit(pager::Slot slot) const override;
  Status get(pager::Slot slot, uint32_t units, std::byte* to, pager::Ticket ticket) override;
  Status put(pager::Slot slot, uint32_t units, const std::byte* from, pager::Ticket ticket) override;
  // Memory that was released is given back when it is more than kKeptBytes: a slot that is soon used again costs
  // nothing then.
  Status release(pager::Slot slot, uint32_t units) override;
  Status progress(std::vector<pager::Ticket>* completed) override;
  bool busy() const override { return !done_.empty() || courier_->busy(); }
  bool direct() const override { return direct_; }

  const std::vector<Lender>& lenders() const { return lenders_; }
  std::string describe(pager::Slot slot) const;  // for messages: "slot 5 of rank 2 on host"
  Status goodbye(int exit_code) { return courier_->goodbye(exit_code); }

 private:
  static constexpr uint64_t kKeptBytes = 64 << 20;  // or a sixteenth of a small cluster
  // A put that goes to two servers is complete when both are.
  struct Move {
    pager::Ticket ticket;
    uint32_t left;
  };
  uint32_t take_move(pager::Ticket ticket, uint32_t parts);
  void finish(uint32_t move);
  Status give_back(uint64_t keep);
  Status collect();

  std::vector<Lender> lenders_;
  std::unique_ptr<Courier> courier_;
  size_t unit_;
  SlotMap map_;
  bool direct_;      // no server is asked by message
  Ranges released_;  // not given back yet
  std::vector<Move> moves_;
  std::vector<uint32_t> free_moves_;
  std::vector<pager::Ticket> done_;
  std::vector<uint64_t> tokens_;
};

}  // namespace tasuki::dlm
