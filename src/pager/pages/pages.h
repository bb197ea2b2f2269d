// The records of the pages that have local memory or are about to: Pages gives them out, takes them back, and
// knows which units belong to which. What a record says is changed by Residency alone, which owns the Pages;
// everybody else sees it const.
#pragma once

#include <atomic>

#include "os/process/futex.h"
#include "pager/mappers/mapper.h"
#include "pager/own_memory.h"
#include "pager/pages/fingerprint.h"
#include "pager/pages/page_state.h"
#include "pager/pages/regions.h"

namespace tasuki::pager {

struct Wait {  // of a thread in a fault
  int thread = 0;
  double since = 0;
  std::atomic<uint32_t>* served = nullptr;  // of one that sleeps in a handler until this is 1

  void end() const {
    if (served == nullptr) return;
    served->store(1, std::memory_order_release);
    os::futex_wake(served, 1);
  }
};

struct Page {
  Region* region = nullptr;  // nullptr: no page has this record
  uint64_t first = 0;
  uint32_t units = 0;
  PageState state;
  bool predicted_write = false;
  bool unmapped = false;  // the pieces came from Mapper::unmap
  Fingerprint sent;       // of the bytes that the store has
  Pieces pieces;          // arriving, leaving, limbo: where the bytes are
  OwnVector<Wait> waits;

  std::byte* at() const { return region->address(first); }
  uint64_t end() const { return first + units; }
};

class Pages {
 public:
  // From now on the units of the region can have pages.
  static void watch(Region* region) { region->page_.assign(region->units(), kNoPage); }

  // A page for units that have none. References to pages stay valid until their page ends.
  PageId begin(Region* region, uint64_t first, uint32_t units);
  void end(PageId id);
  // The units of the page that follows this one become this one's; the other page ends.
  void join(PageId id, PageId next);

  Page& operator[](PageId id) { return pages_[id]; }
  const Page& operator[](PageId id) const { return pages_[id]; }
  size_t records() const { return pages_.size(); }
  size_t alive() const { return pages_.size() - free_.size(); }

 private:
  OwnDeque<Page> pages_;
  OwnVector<PageId> free_;
};

}  // namespace tasuki::pager
