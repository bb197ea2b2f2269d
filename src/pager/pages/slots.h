// The slots of the store: which are free, and which have the bytes of which units of a region.
#pragma once

#include "pager/failure.h"
#include "pager/pages/regions.h"
#include "pager/run_set.h"
#include "pager/stores/store.h"

namespace tasuki::pager {

class Slots {
 public:
  Slots(Store* store, Failure* failure);

  static void watch(Region* region) { region->slot_.assign(region->units(), 0); }

  uint64_t count() const { return count_; }
  uint64_t free() const;  // those that can be reserved count

  // From now on so many units can have a slot each, as far as there are slots at all. ENOMEM: the store has
  // no room for them.
  Status reserve(uint64_t units);
  // So many units are left: what the store holds for more goes back to it, as far as that is possible.
  void needs_only(uint64_t units);

  // A slot for each of these units that has none. False: there are not enough; those that were given stay
  // given.
  bool give(Region* region, uint64_t first, uint64_t units);
  // The units' slots are free again, and what they had is forgotten.
  void take(Region* region, uint64_t first, uint64_t units);
  static bool has_any(const Region& region, uint64_t first, uint64_t units);

  // A process is forked that reads what the slots in use have now: they are not put any more, and what is
  // taken from its unit waits, until thaw() of that snapshot. `snapshot`: its number, from the oldest on.
  void freeze();
  void thaw(size_t snapshot);
  bool any_frozen() const { return !snapshots_.empty(); }
  // Has one of these units a slot that must stay as it is?
  bool frozen(const Region& region, uint64_t first, uint64_t units) const;

  // How many units from `unit` on, `most` at most, one transfer can move, and from which slot on they are.
  uint32_t run(const Region& region, uint64_t unit, uint64_t most, Slot* slot) const;

 private:
  static uint64_t step() { return (uint64_t{64} << 20) / unit_size(); }  // reserved at once
  struct Part {  // of the store; earlier ones are used first
    Slot end;
    RunSet free;
  };
  Part& part_of(Slot slot);
  void add_free(Slot first, uint64_t count);
  uint64_t take_free(uint64_t want, Slot* first);
  bool reserve_more();
  void release(Slot first, uint64_t count);
  void split(Slot first, uint64_t count, RunSet* born, RunSet* left);

  Store* store_;
  Failure* failure_;
  uint64_t count_, reserved_ = 0, least_reserved_ = 0;
  std::vector<Part> parts_;
  struct Snapshot {
    RunSet born;  // slots that were given between it and the next one
    RunSet left;  // slots of no unit any more, of which this snapshot is the last that may be read from them
  };
  std::vector<Snapshot> snapshots_;
  bool no_more_ = false;  // reserve_more() was refused since the last thaw()
  bool told_ = false;     // that the store has no room
};

}  // namespace tasuki::pager
