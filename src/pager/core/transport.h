// Swaps in and out: moves the bytes of pages between their buffers and their slots, knows which are under
// way, and measures the traffic. What an arrived or sent page means is for others to decide.
#pragma once

#include "pager/failure.h"
#include "pager/pages/pages.h"
#include "pager/pages/slots.h"

namespace tasuki::pager {

enum class Direction : uint8_t { in, out };

class Transport {
 public:
  Transport(Store* store, const Slots* slots, Failure* failure)
      : store_(store), slots_(slots), failure_(failure) {}

  // All units of the page have slots. Nothing completes before next_complete().
  void start(PageId id, const Page& page, Direction direction);
  // Instead of start(): where the bytes of a page that comes can be read, at once. nullptr: nowhere.
  const std::byte* read_in_place(const Page& page);
  // Of a direct() store: has it these bytes, where they can be read at once?
  bool equals(const Page& page) const;
  // Until the next call: the copies of a direct() store are left to copy_left(), which whoever has the turn
  // calls after it.
  void leave_copies(bool leave) { leaves_copies_ = leave && direct(); }
  bool leaves_copies() const { return leaves_copies_; }
  Status copy_left() { return store_->copy_left(); }
  // Asks the store what is over. False: nothing is.
  bool progress() { return note(&Store::progress); }
  // What is over without asking, of a direct() store. False: nothing is.
  bool collect() { return note(&Store::collect); }
  // Of what progress() or collect() heard of: the next page that has arrived or been sent as a whole;
  // kNoPage: no more.
  PageId next_complete();

  bool under_way(PageId id) const { return id < loads_.size() && loads_[id].transfers > 0; }
  uint32_t pages() const { return in_flight_; }  // under way
  uint32_t pages_in() const { return in_.pages; }
  bool idle() const { return !store_->busy(); }
  bool settled() const { return store_->settled(); }
  // Can be read when progress() hears of something; -1: nothing is under way, or it must be asked again and
  // again.
  int descriptor() const { return idle() ? -1 : store_->descriptor(); }
  // While idle: progress() wants to be called again within this many milliseconds; -1: need not be.
  int longest_rest_ms() const { return store_->longest_rest_ms(); }
  // Transfers are copies by this thread at the speed of memory.
  bool direct() const { return store_->direct(); }

  void report(Stats* stats) const;

 private:
  bool note(Status (Store::*ask)(Tickets*));

  // In one direction.
  struct Traffic {
    uint64_t swaps = 0, bytes = 0;
    uint32_t pages = 0;  // under way
    double since = 0, busy = 0;
    void count(uint64_t more);
    void begin(uint64_t more);
    void end();
  };
  struct Load {  // of a page
    uint32_t transfers = 0;
    Direction direction = Direction::in;
  };

  Store* store_;
  const Slots* slots_;
  Failure* failure_;
  Traffic in_, out_;
  OwnVector<Load> loads_;
  Tickets tickets_;
  size_t next_ticket_ = 0;
  uint32_t in_flight_ = 0;
  bool leaves_copies_ = false;
};

}  // namespace tasuki::pager
