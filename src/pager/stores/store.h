// Where pages live when they are not in local memory: this process (tests, compressed caches), a file, or the
// memory servers of an MPI job (src/cluster).
//
// A store is an array of slots of one unit each (`unit_bytes`). The pager decides which page is in which
// slot; a store only moves bytes. One thread, the pager's, makes all calls; get, put, release and collect of
// a store that is direct() also other threads, by turns (threads/turn.h). copy_left() runs beside them.
// Transfers complete in any order, but two transfers of the same slot never overlap: the pager waits for the
// first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "pager/own_memory.h"

namespace tasuki::pager {

using Slot = uint64_t;
using Ticket = uint64_t;
using Tickets = OwnVector<Ticket>;

class Store {
 public:
  virtual ~Store() = default;

  virtual size_t unit_bytes() const = 0;
  // Slots that exist: the memory lent by all servers. Nothing is held for a slot before its first put.
  virtual uint64_t slots() const = 0;
  // Of these so many, from the first on, can be put; more after reserve(), which also gives back what is
  // beyond (nothing of that is in use). ENOMEM: there is no room for them, and all is as it was.
  virtual uint64_t reserved() const { return slots(); }
  virtual Status reserve(uint64_t) { return {}; }
  // The slots from `slot` up to this one are of one kind; those before them are better, and used first.
  virtual uint64_t part_end(Slot) const { return slots(); }
  // The longest run of slots, from `slot` on, that one transfer may cover: runs never cross servers.
  virtual uint64_t run_limit(Slot slot) const = 0;

  // Starts to move `units` consecutive slots to or from memory (aligned to 4 KiB), which is the caller's
  // again once progress() has reported the ticket. Several transfers under way may have the same ticket:
  // each reports it. get() of a slot that was never put is a caller's error.
  virtual Status get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) = 0;
  virtual Status put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) = 0;
  // As get() and put(), but the copying of a direct() store may be left to copy_left().
  virtual Status get_later(Slot slot, uint32_t units, std::byte* to, Ticket ticket) {
    return get(slot, units, to, ticket);
  }
  virtual Status put_later(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) {
    return put(slot, units, from, ticket);
  }
  // Of a direct() store: the bytes of slots, to be read now by any thread instead of get(). nullptr: they
  // have to be got.
  virtual const std::byte* read_in_place(Slot, uint32_t) { return nullptr; }
  // By a forked child, which shares no thread with the pager: the bytes of slots as they are, without a
  // change to the store and without asking another process; also in a handler of a signal. False: they cannot
  // be had. can_read_aside(): the store can do that at all.
  virtual bool read_aside(Slot, uint32_t, std::byte*) const { return false; }
  virtual bool can_read_aside() const { return false; }
  // Such children live (or none does any more): what is in use stays where it is, for them, unless another
  // process is lost.
  virtual void freeze(bool) {}
  // Copies what those two left. The thread that called them, beside all calls of others: whoever has the turn
  // may hear of what is over already.
  virtual Status copy_left() { return {}; }
  // The contents are needed no more; the memory behind the slots may go back to the system.
  virtual Status release(Slot slot, uint32_t units) = 0;

  // Adds the tickets that completed since the last call. Never blocks. An error is final: the contents of a
  // slot are lost, and the text says which server and what to do.
  virtual Status progress(Tickets* completed) = 0;
  // The same of a direct() store, asking nobody: also from other threads than the pager's, one at a time, in
  // handlers of signals.
  virtual Status collect(Tickets* completed) { return progress(completed); }
  // True while transfers are under way: the pager then calls progress() without sleeping between, unless
  // descriptor() is not negative: that can be read when one is over.
  virtual bool busy() const = 0;
  // No transfer that was asked for is under way, whatever the store does by itself (copies of what was lost,
  // say).
  virtual bool settled() const { return !busy(); }
  virtual int descriptor() const { return -1; }

  // While it is not busy: progress() wants to be called again within this many milliseconds; -1: need not be.
  virtual int longest_rest_ms() const { return -1; }

  // Transfers are copies that the calling thread makes at the speed of memory. If not, the pager spends time
  // on finding transfers that are not needed.
  virtual bool direct() const { return false; }

  // Where the slot is, for people.
  virtual std::string describe(Slot slot) const { return "slot " + std::to_string(slot); }
};

}  // namespace tasuki::pager
