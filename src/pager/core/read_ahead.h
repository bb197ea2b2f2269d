// What is likely to be asked for next, and comes while nobody waits: what streams announced behind a fault,
// and what the program said it will need. Oldest first, one page at a time.
#pragma once

#include "pager/core/swaps.h"

namespace tasuki::pager {

// Units of a region that are to come.
struct Ahead {
  uint32_t region = 0;
  uint64_t first = 0;
  uint32_t units = 0;  // with a stride: pages
  uint32_t page = 0;   // units of each page
  bool backward = false, write = false;
  int64_t stride = 0;  // not 0: the next page is so many units behind `first`

  // Takes the nearest page off. False: it is not in the region.
  bool next(uint64_t region_units, FetchPlan* plan);
};

class ReadAhead {
 public:
  ReadAhead(const Regions* regions, const Residency* residency, const Transport* transport, Swaps* swaps)
      : regions_(*regions), residency_(*residency), transport_(*transport), swaps_(swaps) {}

  // What comes behind the page of the plan.
  void follow(const Region& region, const FetchPlan& plan);
  // Units that the program named; of many only the first.
  void will_need(const Region& region, uint64_t first, uint64_t units);
  void forget(const Region& region);
  bool empty() const { return ahead_.empty(); }

  // Starts to bring one page. False: there is none, or it must wait.
  bool step();

 private:
  const Regions& regions_;
  const Residency& residency_;
  const Transport& transport_;
  Swaps* swaps_;
  OwnDeque<Ahead> ahead_;
};

}  // namespace tasuki::pager
