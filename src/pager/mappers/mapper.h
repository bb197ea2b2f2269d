// How pages appear and disappear under a running program, free of races with its threads: a page that has
// disappeared can be neither read nor written, and a page that appears is complete.
//
//   move   userfaultfd and UFFDIO_MOVE (Linux 6.8): physical pages change their address; nothing is copied or
//          cleared
//   copy   userfaultfd with write protection (Linux 5.7): UFFDIO_COPY in; protect, send from where it is,
//          then discard
//   sigbus as move, but the thread that faults serves itself, in the handler of SIGBUS; small pages come as
//          with copy, and leave many at once while they are clean
//   signal SIGSEGV and a memory file mapped twice: where userfaultfd is not permitted
//
// Ways that lose data, seen: copying a page and then discarding it (a write in between is lost); mprotect and
// then filling through the same mapping (other threads read stale bytes).
//
// One thread at a time calls all of it but place() (threads/turn.h). Lengths are in units.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/cpu.h"
#include "base/status.h"
#include "os/memory/userfault.h"
#include "pager/mappers/protections.h"
#include "pager/own_memory.h"

namespace tasuki::pager {

inline constexpr auto& unit_size = page_size;  // bytes: of a page of the kernel's
// Units of the address space by number.
inline uint64_t unit_of(const std::byte* p) {
  return reinterpret_cast<uintptr_t>(p) / unit_size();
}
inline std::byte* address_of(uint64_t unit) {
  return reinterpret_cast<std::byte*>(unit * unit_size());
}

struct Piece {  // of a buffer
  std::byte* at = nullptr;
  uint32_t units = 0;
  bool zero = false;  // fresh from the system, all bytes 0
};
using Pieces = OwnVector<Piece>;
inline uint32_t units_of(const Pieces& pieces) {
  uint32_t units = 0;
  for (const Piece& p : pieces) units += p.units;
  return units;
}

// Serves faults in the threads that make them, in the handler of a signal.
class FaultServer {
 public:
  // True: the access may be tried again; false: it is not to a region. `before`: the signals that the thread
  // had blocked; now it blocks all.
  virtual bool serve_here(const os::FaultEvent& event, const sigset_t& before) = 0;

 protected:
  ~FaultServer() = default;
};

struct Dropped {  // a page that drop() is to make disappear
  std::byte* at;
  uint32_t units;
  bool stays;  // the program itself discarded a part of it (madvise), which is zeros now
};

class Mapper {
 public:
  virtual ~Mapper() = default;

  // True: faults go to this one, and faults() has none. nullptr: it is gone.
  virtual bool serve_by(FaultServer*) { return false; }

  // Memory for a region: zero-filled, not watched. nullptr: none (errno).
  virtual std::byte* reserve(size_t bytes, size_t alignment) = 0;
  // From now on accesses to absent units are faults. Present ones are where they are: present[i] = 1.
  virtual Status watch(std::byte* at, size_t bytes, uint8_t* present) = 0;
  virtual void release(std::byte* at, size_t bytes, bool watched) = 0;

  // Appends buffers of `units` units in all, where `in_use` have pages or are taken. False: no memory;
  // nothing is taken.
  virtual bool take(uint32_t units, uint64_t in_use, Pieces* pieces) = 0;
  virtual void give(Pieces* pieces) = 0;  // empties the list
  virtual void trim(uint64_t) {}          // so many units of free buffers are too many: back to the system
  virtual uint64_t free_units() const { return 0; }  // of free buffers

  // The page at `at` appears with the bytes of the buffer, which is used up; wakes who waits for it.
  virtual Status map(std::byte* at, Pieces* pieces, bool writable) = 0;
  // The page disappears; its bytes are in *pieces until remap or discard, and may be read there. *changed
  // becomes true if they may not be the store's any more although the page counted as clean: the program
  // itself discarded a part of it (madvise), which is zeros now, or could write to it for a moment. EBUSY:
  // somebody outside of the program's code uses its physical memory (a device or a process that writes there,
  // as the kernel counts pins), so it stays as it was; later it may go.
  virtual Status unmap(std::byte* at, uint32_t units, Pieces* pieces, bool* changed) = 0;
  virtual Status remap(std::byte* at, Pieces* pieces, bool writable) = 0;
  virtual void discard(std::byte* at, uint32_t units, Pieces* pieces) = 0;
  virtual void unprotect(std::byte* at, uint32_t units) = 0;
  // Pages that were mapped read-only and not unprotected since disappear, all but those that have to stay; so
  // many units at most. With one interrupt of the other cores, where each unmap() costs one.
  virtual Status drop(Dropped*, size_t) { return {}; }
  virtual uint32_t most_dropped() const { return 0; }
  // A fault on a unit that should be there: wakes the thread; if the program itself discarded the unit
  // (madvise), a zero unit takes its place, and the result is true.
  virtual bool wake(std::byte* at, uint32_t units) = 0;

  // As map(), of bytes that are read where they are; beside all other calls. ENOTSUP: not this way. places():
  // is that the best way for pages of so many units?
  virtual bool places(uint32_t) const { return false; }
  virtual Status place(std::byte*, const std::byte*, uint32_t, bool) const {
    return Status::error(ENOTSUP, "pages come by buffers only");
  }

  // From now on children of fork have what is present of watched regions, or have no such regions. What is
  // absent is zeros to them, which nobody notices. False: they never have any.
  virtual bool let_inherit(bool) { return false; }

  // A region of which nothing is away is ordinary memory from now on, with the protections that it has.
  virtual Status forget(std::byte* at, size_t bytes, bool watched) = 0;

  // What the program may do with units, whether they are there or not. Pages of which only a part is meant
  // must be split before. Errors: of mprotect.
  virtual Status protect(std::byte* at, size_t bytes, int protection) = 0;
  const Protections& protections() const { return protections_; }
  // The page there has become two, of which one ends where the other begins.
  virtual void split(std::byte*) {}
  // Are the bytes of a page that leaves where the program has them, until discard()?
  virtual bool leaves_in_place() const { return false; }
  // A fault that the protection does not permit: the thread gets the signal that it would get plainly.
  virtual void refuse(const os::FaultEvent& event) = 0;
  // Units that are there and may not be written to are zeros from now on.
  virtual void clear(std::byte* at, uint32_t units);

  // Can map() make a page of so many units appear read-only? If not, every mapped page counts as written.
  virtual bool maps_protected(uint32_t units) const = 0;
  // Can a region that the program has used be watched from now on? If not, it is watched from its beginning.
  virtual bool watches_late() const { return true; }
  virtual uint64_t page_limit() const { return UINT64_MAX; }  // of resident pages
  virtual bool serves_kernel() const = 0;                     // faults of system calls too
  virtual const char* name() const = 0;

  // Faults that wait; 0: none now.
  virtual size_t faults(os::FaultEvent* events, size_t max) = 0;
  virtual int descriptor() const = 0;  // readable when there are faults; negative: there never are

 protected:
  Protections protections_;
};

Result<std::unique_ptr<Mapper>> make_userfault_mapper(bool user_mode_only);
// `own_stack`: faults are served on the thread's own stack (fault_signal.h).
Result<std::unique_ptr<Mapper>> make_sigbus_mapper(bool own_stack);
Result<std::unique_ptr<Mapper>> make_copy_mapper(bool user_mode_only);
Result<std::unique_ptr<Mapper>> make_signal_mapper();

}  // namespace tasuki::pager
