// Which page comes, which one leaves for it, and in which order: the protocols (DLM-MPI, section 3.3), and
// making room. Swaps decides; Residency and Transport do.
#pragma once

#include "pager/core/residency.h"
#include "pager/pages/streams.h"

namespace tasuki::pager {

class Swaps {
 public:
  Swaps(const Options& options, Residency* residency, Transport* transport, Failure* failure);

  // Starts to fetch (or zeroes) the page of the plan with `unit`, which has none, as far as its units are in
  // the same state; nobody waits for what is fetched ahead. False: that must wait until something else is
  // over.
  bool bring(Region* region, uint64_t unit, const FetchPlan& plan, bool write, const Wait* wait);
  // The protocol has one swap at a time, and one is under way.
  bool blocked() const { return one_at_a_time() && (transport_->pages() > 0 || !arrived_.empty()); }
  // Goes on with what has arrived or been sent. False: nothing has.
  bool progress() { return go_on(transport_->progress()); }
  // The same of transfers that are over without asking, of a direct() store.
  bool collect() { return go_on(transport_->collect()); }
  // Between faults, with so many units allocated: memory that is free at once when the next fault comes.
  // `more` units than usual. False: there is enough, or none to be had.
  bool keep_room(uint64_t allocated, uint64_t more = 0);

 private:
  bool one_at_a_time() const { return protocol_ != Protocol::ahead; }
  void arrive(PageId id);
  bool go_on(bool any);
  void finish_swap();
  bool evict_one();
  void evict_surplus();
  bool make_room(uint32_t units);
  bool all_stay() const;

  const Protocol protocol_;
  Residency* residency_;
  Victims* victims_;
  Transport* transport_;
  Failure* failure_;
  bool keeping_room_ = false;
  OwnVector<PageId> arrived_;  // cs, cross: their swap is not over
};

}  // namespace tasuki::pager
