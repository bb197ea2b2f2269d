// Where the copies of each slot are now; with an erasure code, of which a copy here is one part, some of
// which together give the slot. First as SlotMap lays them out; from the first server on that is lost or
// leaves, in a table of segments, whose copies can be placed again: in memory of other servers that nobody
// has, that is the places to spare of slots that are not in use, or any place of slots that are not
// promised. A slot that is promised and not in use keeps so many that, in all, as many servers may be lost as
// it has copies to spare; fewer only where another one had too few else. It loses the last places that it
// needs only when what is in use has too few.
//
// Memory as pager/own_memory.h says. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/transport/ranges.h"
#include "cluster/transport/redundancy.h"
#include "cluster/transport/slot_map.h"
#include "cluster/transport/slot_set.h"
#include "pager/own_memory.h"

namespace tasuki::cluster {

class Places {
 public:
  using Place = SlotMap::Place;

  // `block`: the longest segment, in slots. `redundancy`: copies, and how many of them give the slot. See
  // SlotMap for the rest.
  Places(const std::vector<uint64_t>& capacities, Fill fill, Redundancy redundancy, uint64_t block);

  uint64_t slots() const { return map_.slots(); }
  uint32_t copies() const { return map_.copies(); }
  uint32_t needed() const { return needed_; }
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
  bool promised(size_t index) const { return begin_[index] < promised_; }
  uint64_t promised() const { return promised_; }

  // Of the table: segments() is 0 before that.
  struct Segment {
    uint64_t begin, end;
  };
  size_t segments() const { return begin_.size(); }
  Segment segment(size_t index) const;
  size_t segment_of(uint64_t slot) const;
  // It is there, and fewer than that is there than are needed.
  bool has(size_t index, uint32_t copy) const { return !lost_[entry(index)[copy].server]; }
  bool gone(size_t index) const { return copies_left(index) < needed_; }
  // A copy that is lost, and one that needs another place (a lost one before one whose server leaves):
  // copies() where none is.
  uint32_t copy_lost(size_t index) const;
  uint32_t copy_to_place(size_t index) const;
  // Slots of segments that have a copy there.
  uint64_t slots_at(uint32_t server) const;

  // A place for such a copy of a segment. `used`: slots with contents. False: no server has room. What was
  // taken is moved in, or given back.
  bool take(size_t index, const SlotSet& used, Place* place);
  // For a segment that is gone: the place of a copy to spare of slots that are in use, or else one that slots
  // which are not would need. `fixed`: segments that must stay as they are for now; *later: but one could
  // give.
  template <class Fixed>
  bool take_from_others(size_t index, const SlotSet& used, const Fixed& fixed, Place* place, bool* later) {
    for (const bool needed : {false, true})
      for (size_t other = segments(); other-- > 0;) {
        const Segment here = segment(other);
        if ((copies_left(other) <= needed_) != needed) continue;
        if ((needed || frozen_) && !used.first_in(here.begin, here.end).empty()) continue;
        const uint32_t copy = copy_to_give(other, index);
        if (copy == copies()) continue;
        if (fixed(here)) {
          *later = true;
          continue;
        }
        give_up(other, copy);
        if (find_free(index, place)) return true;
      }
    return false;
  }
  // Somebody reads where what is in use was when this began: it gives up no place.
  void freeze(bool frozen) { frozen_ = frozen; }
  // No more of that server is taken for now.
  void avoid(uint32_t server) { free_[server] = {}; }
  void move_in(size_t index, const Place& place) { move_in(index, copy_to_place(index), place); }
  void move_in(size_t index, uint32_t copy, const Place& place);
  void give_back(size_t index, const Place& place);
  // The same, if need be at a server that leaves, which stays then.
  bool take_of_leaving(size_t index, Place* place);
  // Of a segment that is not in use: no copy of it is at a server that leaves. False: there is no room for it
  // elsewhere.
  bool empty_leaving(size_t index, const SlotSet& used);
  // Nothing is taken of this one, until hold(nothing()).
  void hold(size_t index);
  static size_t nothing() { return SIZE_MAX; }
  // Slots that are not among those in use any more.
  void release(uint64_t slot, uint32_t units, const SlotSet& used);

 private:
  struct Copy {
    uint64_t at;
    uint32_t server;
  };
  uint32_t nowhere() const { return static_cast<uint32_t>(capacities_.size()); }
  void make_table();
  Copy* entry(size_t index) { return &table_[index * copies()]; }
  const Copy* entry(size_t index) const { return &table_[index * copies()]; }
  bool stays(size_t index, uint32_t copy) const {
    const uint32_t server = entry(index)[copy].server;
    return !lost_[server] && !leaves_[server];
  }
  bool has_copy_at(size_t index, uint32_t server) const;
  uint32_t copies_left(size_t index) const;
  uint32_t staying_copies(size_t index) const;
  uint32_t copy_to_give(size_t index, size_t to) const;
  bool find_free(size_t index, Place* place, bool leaving = false);
  uint32_t server_with_spare(size_t index) const;
  uint32_t copy_at(size_t index, uint32_t server) const;
  bool is_idle(size_t index, const SlotSet& used) const;
  bool give_up_spare(size_t index, uint32_t server, const SlotSet& used);
  void servers_changed();
  void look_again();
  bool free_one_more(const SlotSet& used, size_t index);
  uint64_t units_of(size_t index) const { return segment(index).end - segment(index).begin; }
  void give_up(size_t index, uint32_t copy);

  SlotMap map_;
  std::vector<uint64_t> capacities_;
  uint32_t needed_;
  uint64_t block_;
  pager::OwnVector<uint64_t> begin_;  // of each segment
  pager::OwnVector<Copy> table_;      // of each segment its copies
  // Of each server, and a last one, which stands for nowhere.
  pager::OwnVector<bool> lost_, leaves_;
  pager::OwnVector<Ranges> free_;
  uint64_t promised_ = 0;
  uint32_t keeps_;  // places of a promised segment that is not in use
  size_t held_ = SIZE_MAX;
  bool frozen_ = false;
  // What may be unused and have places to spare: segments before this one, and those that were left since.
  size_t unused_;
  Ranges idle_;
  pager::OwnVector<Ranges> spare_;  // of each server: segments that had a place to spare there when looked at
};

}  // namespace tasuki::cluster
