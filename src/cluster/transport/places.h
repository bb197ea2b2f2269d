// Where the copies of each slot are now. First as SlotMap lays them out; from the first loss of a server on a
// table of segments, whose lost copies can be placed again: in memory of other servers that nobody has, or
// that is the second place of slots that are not in use. Such slots have one place then. No slot loses its
// last place for a copy of others; only when what is in use has no place at all.
//
// Memory as pager/own_memory.h says. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/transport/ranges.h"
#include "cluster/transport/slot_map.h"
#include "cluster/transport/slot_set.h"
#include "pager/own_memory.h"

namespace tasuki::cluster {

class Places {
 public:
  using Place = SlotMap::Place;

  // `block`: the longest segment, in slots. See SlotMap for the rest.
  Places(const std::vector<uint64_t>& capacities, Fill fill, uint32_t copies, uint64_t block);

  uint64_t slots() const { return map_.slots(); }
  uint32_t copies() const { return map_.copies(); }
  // Where a copy is, or was before its server was lost.
  Place find(uint64_t slot, uint32_t copy) const;
  uint64_t run_limit(uint64_t slot) const;
  bool lost(uint32_t server) const { return lost_[server]; }

  // For two copies. The memory of `server` is gone.
  void lose(uint32_t server);

  // Of the table: segments() is 0 before the first loss.
  struct Segment {
    uint64_t begin, end;
  };
  size_t segments() const { return table_.size(); }
  Segment segment(size_t index) const;
  size_t segment_of(uint64_t slot) const;
  // The copy that is left, and the one that is lost: copies() where none is.
  uint32_t copy_left(size_t index) const;
  uint32_t copy_lost(size_t index) const;

  // A place for a lost copy of a segment. `used`: slots with contents. False: no server has room. What was
  // taken is moved in, or given back.
  bool take(size_t index, const SlotSet& used, Place* place);
  // For the only copy of a segment: the place of one of two copies that are in use, or else the only one of
  // slots that are not. `fixed`: segments that must stay as they are.
  template <class Fixed>
  bool take_from_others(size_t index, const SlotSet& used, const Fixed& fixed, Place* place) {
    for (const bool the_only_one : {false, true})
      for (size_t other = segments(); other-- > 0;) {
        const uint32_t left = copy_left(other);
        const Segment here = segment(other);
        if (left == copies() || (copy_lost(other) < copies()) != the_only_one || fixed(here)) continue;
        if (the_only_one && !used.first_in(here.begin, here.end).empty()) continue;
        give_up(other, left);
        if (find_free(units_of(index), nowhere(), place)) return true;
      }
    return false;
  }
  // No more of that server is taken for now.
  void avoid(uint32_t server) { free_[server] = {}; }
  void move_in(size_t index, const Place& place);
  void give_back(size_t index, const Place& place);
  // Slots that are not among those in use any more.
  void leave(uint64_t slot, uint32_t units, const SlotSet& used);

 private:
  static constexpr uint32_t kMostCopies = 2;
  struct Entry {
    uint64_t begin;
    uint64_t at[kMostCopies];
    uint32_t server[kMostCopies];
  };
  uint32_t nowhere() const { return static_cast<uint32_t>(capacities_.size()); }
  void make_table();
  bool is_lost(const Entry& entry, uint32_t copy) const { return lost_[entry.server[copy]]; }
  bool find_free(uint64_t units, uint32_t besides, Place* place);
  bool free_one_more(const SlotSet& used, uint32_t besides);
  uint64_t units_of(size_t index) const { return segment(index).end - segment(index).begin; }
  void give_up(size_t index, uint32_t copy);

  SlotMap map_;
  std::vector<uint64_t> capacities_;
  uint64_t block_;
  pager::OwnVector<Entry> table_;
  // Of each server, and a last one, which stands for nowhere.
  pager::OwnVector<bool> lost_;
  pager::OwnVector<Ranges> free_;
  // What may be unused and have two places: segments before this one, and those that were left since.
  size_t unused_;
  Ranges idle_;
};

}  // namespace tasuki::cluster
