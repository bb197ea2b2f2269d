// What is local, page by page: a page comes into a buffer, appears at its address, is unmapped and sent,
// rests in limbo and is given up, as its state machine says. Residency owns the pages and the budget, and is
// alone in changing the states; when a page comes and which one leaves for it is for those above to decide
// (Swaps).
#pragma once

#include <functional>

#include "pager/core/transport.h"
#include "pager/failure.h"
#include "pager/pages/budget.h"
#include "pager/pages/slots.h"
#include "pager/pages/victims.h"
#include "pager/threads/wait_times.h"

namespace tasuki::pager {

class Residency {
 public:
  // All that is pointed to outlives it.
  Residency(const Options& options, Mapper* mapper, Slots* slots, Transport* transport, WaitTimes* wait_times,
            Failure* failure);

  const Page& page(PageId id) const { return pages_[id]; }
  State state(PageId id) const { return pages_[id].state.state(); }
  const Budget& budget() const { return budget_; }
  Victims* victims() { return &victims_; }
  // The mapper cannot have more pages at the moment.
  bool at_page_limit() const { return pages_.alive() >= page_limit_; }

  // Regions with pages of so many units will come.
  void prepare_for(uint64_t page_units) { budget_.prepare_for(page_units); }
  // A region that is watched from now on: what the program has touched is resident.
  void adopt(Region* region, const std::vector<uint8_t>& present);
  // Takes the pages and slots of a region away. False: transfers of its pages are under way, and nothing
  // happens.
  bool abandon(Region* region);

  // No page reaches across the beginning of the unit any more. False: it is on its way; to be called again.
  bool cut(Region* region, uint64_t unit);
  // Are the bytes of one of these units read where the program has them, to be sent?
  bool any_sent_from_place(const Region& region, uint64_t first, uint64_t end) const;
  // What the program may do with a unit. Pages are of units with the same protection.
  int protection(const Region& region, uint64_t unit) const {
    return mapper_->protections().of(unit_of(region.address(unit)));
  }
  bool any_protected(const Region& region, uint64_t first, uint64_t end) const {
    return mapper_->protections().any_in(unit_of(region.address(first)), end - first);
  }
  bool any_inaccessible(const Region& region, uint64_t first, uint64_t end) const;

  // The units are as if nobody had touched them yet. Pages that are held or used by somebody outside are made
  // zero where they are. left(first, end): those that reach beyond the units, and can be written to. False:
  // transfers are under way; to be called again.
  bool clear(Region* region, uint64_t first, uint64_t end,
             const std::function<void(uint64_t, uint64_t)>& left);

  // A page for units that have none, all in the store or none of them, with a buffer. kNoPage: the system has
  // no memory.
  PageId begin(Region* region, uint64_t first, uint32_t units, bool predicted_write);
  // Begins to bring it; `wait`: who waits for it, or nobody. zero: the bytes are there already, for
  // arrived().
  Action bring(PageId id, bool write, const Wait* wait);
  // A fault on a unit that has a page; `wait`: who waits for it where it has to come back first, or nobody.
  Action fault(const Region& region, uint64_t unit, bool write, const Wait* wait);
  // Somebody who is not counted waits for a page that is under way.
  void want(PageId id, bool write) { pages_[id].state.fault(write); }
  // Its transfer from the store is over.
  void received(PageId id);

  // A page that comes with its bytes read where the store has them, by whoever has begun to bring it.
  struct Placing {
    PageId id = kNoPage;  // kNoPage: there is none
    std::byte* at = nullptr;
    const std::byte* from = nullptr;
    uint32_t units = 0;
    bool writable = false;
  };
  // From now on, or no more, bring() may leave such a page.
  void leave_placing(bool leave) { leaves_placing_ = leave; }
  // What bring() has left. It is arriving until placed().
  Placing take_placing() { return std::exchange(placing_, {}); }
  void placed(const Placing& placing);

  // The bytes are in the buffer: it appears.
  void arrived(PageId id);
  // Its transfer to the store is over: it rests in limbo, or comes back if it was asked for.
  void sent(PageId id);

  // So many units may leave that have no slots yet.
  bool has_slots(uint64_t units) const { return copies_ == Copies::cache || slots_->free() >= units; }
  // A resident page leaves. False: there is no slot for it, or somebody outside uses it.
  bool evict(PageId id);
  // Pages behind this one that would leave about when it does leave with it, as one. What a page costs hardly
  // depends on its size.
  void join_neighbours(PageId id, double now);
  // Gives up the page that has been in limbo longest. False: there is none.
  bool reclaim_one();
  // The pages that leave next are given up together, without resting in limbo, as far as they are small, have
  // not changed and the mapper can do that. False: the next one is not such a page.
  bool drop_clean(double now);

  void report(Stats* stats) const;

 private:
  bool drop(PageId id);
  void reclaim(PageId id);
  PageId new_page(Region* region, uint64_t first, uint32_t units);
  void end_page(PageId id);
  Action act(PageId id, Action action);
  bool leave_to_place(PageId id);
  void appear(PageId id);
  void appeared(PageId id);
  void trim_buffers();
  bool give_slots(PageId id);
  bool steal_slots(PageId except);

  const Copies copies_;
  Mapper* mapper_;
  Slots* slots_;
  Transport* transport_;
  WaitTimes* wait_times_;
  Failure* failure_;
  const uint64_t page_limit_;
  Pages pages_;
  Budget budget_;
  Victims victims_;
  PageList limbo_;             // oldest first
  OwnVector<PageId> leaving_;  // of drop_clean()
  OwnVector<Dropped> dropped_;
  PageId steal_hand_ = 0;
  bool leaves_placing_ = false;
  Placing placing_;
  uint64_t first_touches_ = 0, rescues_ = 0, write_faults_ = 0, drops_ = 0, prefetched_ = 0;
  double map_seconds_ = 0;
};

}  // namespace tasuki::pager
