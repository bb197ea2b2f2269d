// The slots of the store: which are free, and which have the bytes of which units of a region.
#pragma once

#include "pager/failure.h"
#include "pager/pages/regions.h"
#include "pager/run_set.h"
#include "pager/stores/store.h"

namespace tasuki::pager {

class Slots {
 public:
  Slots(Store* store, Failure* failure) : store_(store), failure_(failure), count_(store->slots()) {
    free_.add(0, count_);
  }

  static void watch(Region* region) { region->slot_.assign(region->units(), 0); }

  uint64_t count() const { return count_; }
  uint64_t free() const { return free_.total(); }

  // A slot for each of these units that has none. False: there are not enough; those that were given stay
  // given.
  bool give(Region* region, uint64_t first, uint64_t units);
  // The units' slots are free again, and what they had is forgotten.
  void take(Region* region, uint64_t first, uint64_t units);
  static bool has_any(const Region& region, uint64_t first, uint64_t units);

  // How many units from `unit` on, `most` at most, one transfer can move, and from which slot on they are.
  uint32_t run(const Region& region, uint64_t unit, uint64_t most, Slot* slot) const;

 private:
  Store* store_;
  Failure* failure_;
  uint64_t count_;
  RunSet free_;
};

}  // namespace tasuki::pager
