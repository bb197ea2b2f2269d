// Where the copies of each slot are now. First as SlotMap lays them out; from the first server on that is
// lost or leaves, in a table of segments, whose copies can be placed again: in memory of other servers that
// nobody has, that is the second place of slots that are not in use, or any place of slots that are not
// promised. A promised slot loses its last place only when what is in use has no place at all.
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
  bool leaves(uint32_t server) const { return leaves_[server]; }

  // The memory of `server` is gone.
  void lose(uint32_t server);
  // It is there, but is not to be used any more.
  void leave(uint32_t server);
  void stay(uint32_t server);  // but is, after all
  // The slots from `slots` on will not be put. False: no place for all before them, and all is as it was.
  bool promise(uint64_t slots, const SlotSet& used);
  bool promised(size_t index) const { return table_[index].begin < promised_; }
  uint64_t promised() const { return promised_; }

  // Of the table: segments() is 0 before that.
  struct Segment {
    uint64_t begin, end;
  };
  size_t segments() const { return table_.size(); }
  Segment segment(size_t index) const;
  size_t segment_of(uint64_t slot) const;
  // The copy that is left, the one that is lost, and the one that needs another place (a lost one before one
  // whose server leaves): copies() where none is.
  uint32_t copy_left(size_t index) const;
  uint32_t copy_lost(size_t index) const;
  uint32_t copy_to_place(size_t index) const;
  // Slots of segments that have a copy there.
  uint64_t slots_at(uint32_t server) const;

  // A place for such a copy of a segment. `used`: slots with contents. False: no server has room. What was
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
        if (left == copies() || !stays(table_[other], left) || fixed(here)) continue;
        if ((copies() == 1 || copy_lost(other) < copies()) != the_only_one) continue;
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
  // The same, if need be at a server that leaves, which stays then.
  bool take_of_leaving(size_t index, Place* place);
  // Of a segment that is not in use: no copy of it is at a server that leaves. False: there is no room for it
  // elsewhere.
  bool empty_leaving(size_t index, const SlotSet& used);
  // Nothing is taken of this one, until hold(nothing()).
  void hold(size_t index) { held_ = index; }
  static size_t nothing() { return SIZE_MAX; }
  // Slots that are not among those in use any more.
  void release(uint64_t slot, uint32_t units, const SlotSet& used);

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
  bool stays(const Entry& entry, uint32_t copy) const {
    return !lost_[entry.server[copy]] && !leaves_[entry.server[copy]];
  }
  uint32_t staying_copies(size_t index) const;
  bool find_free(uint64_t units, uint32_t besides, Place* place, bool leaving = false);
  bool free_one_more(const SlotSet& used, uint32_t besides);
  uint64_t units_of(size_t index) const { return segment(index).end - segment(index).begin; }
  void give_up(size_t index, uint32_t copy);
  void put_in(size_t index, uint32_t copy, const Place& place);

  SlotMap map_;
  std::vector<uint64_t> capacities_;
  uint64_t block_;
  pager::OwnVector<Entry> table_;
  // Of each server, and a last one, which stands for nowhere.
  pager::OwnVector<bool> lost_, leaves_;
  pager::OwnVector<Ranges> free_;
  uint64_t promised_ = 0;
  size_t held_ = SIZE_MAX;
  // What may be unused and have places to spare: segments before this one, and those that were left since.
  size_t unused_;
  Ranges idle_;
};

}  // namespace tasuki::cluster
