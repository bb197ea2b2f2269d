// The pager: memory larger than what this process may keep. One object, no globals; src/cluster gives it
// servers.
//
//   unit     what the pager keeps a state for: 4 KiB, or the page size of an allocation with a fixed one
//   page     what travels at once: a run of units, of fixed size or grown and shrunk by observed locality
//   slot     a unit's place in the store (store.h)
//   region   one allocation: its units, their states, its page size
//   resident, leaving, remote, arriving, untouched: the states of a unit (page_state.h)
//   buffer   local memory for one page that no unit uses at the moment
//   mapper   how pages appear and disappear under the program's feet (mapper.h)
//   victim   the next page to evict, as the replacement policy says (replacement.h)
//
// Threads: the program's threads call allocate, free, advise, pin and stats, and fault. One thread calls
// serve(), which does all the work and all calls of the store, until stop(). That thread must have been made
// with all signals blocked (os/process/signals.h): a handler that touches cluster memory there would wait for
// itself. Without it (Options::threadless) the program's threads do all of that in their faults and calls, by
// turns. Source: Midorikawa et al., DLM-MPI, section 3; what goes beyond it is said where it stands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "pager/stores/store.h"

namespace tasuki::pager {

// How a fault's three steps (request, receive, send away a page) are ordered: DLM-MPI, section 3.3.
enum class Protocol {
  ahead,  // evict ahead of need with watermarks, many transfers in flight
  cs,     // conservative serial: request, receive, send, then go on
  cross,  // request, send while the page is on its way, receive, then go on
  as1,    // aggressive serial: the program goes on when its page is there, then one page is sent away; the
          // next fault waits for that. A thread that serves its own faults sends the request itself
  as2,  // the same, where the thread that catches faults hands them over to the one that makes all MPI calls
};
enum class ReplacementPolicy { clock, fifo, address };
enum class Prefetch { automatic, off, sequential, strided, majority };
// May a resident page keep its slot? cache: yes (clean pages leave without a transfer); exclusive: no, every
// byte of the cluster counts; automatic: yes until slots run out.
enum class Copies { automatic, cache, exclusive };
// automatic: the first of the following that is permitted. userfault_copy: as userfaultfd works before Linux
// 6.8.
enum class Faults { automatic, userfault, userfault_user_mode, signal, userfault_copy, userfault_sigbus };

struct Options {
  uint64_t local_bytes = 0;  // for pages; what does not fit is in the store
  size_t page_bytes = 0;     // 0: automatic; else a multiple of the page size of the kernel, up to 2 MiB
  Protocol protocol = Protocol::ahead;
  ReplacementPolicy replacement = ReplacementPolicy::clock;
  Prefetch prefetch = Prefetch::automatic;
  Copies copies = Copies::automatic;
  Faults faults = Faults::automatic;
  // There is no serve(): who needs something done does it, as with cs in the paper (figure 9). Only with
  // Protocol::cs and Faults::userfault_sigbus; stop() ends it.
  bool threadless = false;
  // Threadless: the store has failed, as serve() would say. Called in the thread that heard of it; does not
  // return.
  void (*lost)(const Status&) = nullptr;
  // Called before and after what a thread of the program does itself of the pager's work, to serve its own
  // fault in a handler or where no thread of the pager's is: its calls of libc are the pager's then.
  void (*enter)() = [] {};
  void (*leave)() = [] {};
};

struct Stats {  // the fields of struct dlm_counters, same order and meaning
  uint64_t page_bytes = 0, local_bytes = 0, server_bytes = 0, allocated_bytes = 0, resident_bytes = 0;
  uint64_t faults = 0, first_touches = 0, rescues = 0, write_faults = 0;
  uint64_t swaps_in = 0, bytes_in = 0, swaps_out = 0, bytes_out = 0, drops = 0, prefetched = 0;
  double wait_previous = 0, wait_page = 0, in_seconds = 0, out_seconds = 0, map_seconds = 0;
  uint64_t beside_bytes = 0;  // the pager's owner knows
};

struct ThreadStats {
  int tid = 0;
  uint64_t faults = 0;
  double wait_seconds = 0;
};

// A way to catch faults, and whether this machine permits it; the first that it permits is used.
struct FaultWay {
  std::string name;    // "userfaultfd, pages moved"
  std::string reason;  // why it cannot be used here, empty if it can
  bool serves_kernel;  // faults of system calls too
};
std::vector<FaultWay> fault_ways();

enum class Advice { normal, sequential, random, will_need, done_with, keep_local };

class Pager {
 public:
  // The unit that a store for these options must have.
  static size_t unit_bytes(const Options& options);

  // `store` outlives the pager. Errors: EINVAL (options, unit of the store), EPERM and ENOSYS (a way to catch
  // faults that was asked for is not permitted here), ENOMEM.
  static Result<std::unique_ptr<Pager>> create(const Options& options, Store* store);
  virtual ~Pager() = default;

  // Zero-filled. ENOMEM: neither local memory nor the store has room; EINVAL: alignment or page size.
  virtual Result<void*> allocate(size_t bytes, size_t alignment, size_t page_bytes) = 0;
  // EINVAL: not the address of an allocation.
  virtual Status free(void* p) = 0;
  virtual Result<void*> reallocate(void* p, size_t bytes) = 0;
  // The bytes of the allocation that begins at p; 0: none does.
  virtual size_t size_of(const void* p) const = 0;
  // Any byte of [p, p + bytes) in a region? For the wrappers of system calls, as pin, unpin and size_of: also
  // in signal handlers.
  virtual bool touches(const void* p, size_t bytes) const = 0;

  virtual Status advise(void* p, size_t bytes, Advice advice) = 0;
  // The bytes are zeros from now on. What was there neither comes nor goes, and has no slots any more.
  // EINVAL: not a range of one allocation.
  virtual Status discard(void* p, size_t bytes) = 0;
  // mprotect of [p, p + bytes), where p is the beginning of a page: `protection` is a union of PROT_READ,
  // PROT_WRITE and PROT_EXEC. Errors: EINVAL (not a range of one allocation), and those of mprotect.
  virtual Status protect(void* p, size_t bytes, int protection) = 0;
  // The allocation that begins at p is ordinary memory from now on, with its contents, beyond any limit:
  // free() does not know it any more. EBUSY: a part of it cannot come (it is on another host; without
  // userfaultfd).
  virtual Status let_go(void* p) = 0;
  // What protect() has made of a range; -1: not the same everywhere.
  virtual int protection(const void* p, size_t bytes) const = 0;
  // Makes the units of [p, p + bytes) resident, and writable if `write`, and keeps them until unpin: the
  // kernel may then access them where faults of the kernel cannot be served. Parts that are not in a region
  // are ignored. All pins together hold at most a quarter of the local memory: returns how many bytes from p
  // on were pinned.
  virtual size_t pin(const void* p, size_t bytes, bool write) = 0;
  virtual void unpin(const void* p, size_t bytes) = 0;
  // Does the kernel need pin() before it accesses cluster memory?
  virtual bool needs_pin() const = 0;

  // Around a fork, all in the thread that forks, whose signals wait meanwhile. before_fork() waits until
  // nothing is under way, and nothing happens until one of the other two is called, in the parent and in the
  // child. The child then has cluster memory as it was, without a pager: it can neither allocate nor free
  // there, its calls of the kernel need pin(), and a thread of it that touches absent memory with SIGBUS
  // blocked ends it. False: a child has none (faults by SIGSEGV, servers that are reached by messages,
  // everything is local), and the other two are not called. Errors: what userfaultfd refuses.
  virtual bool before_fork() { return false; }
  // Do children of fork() have cluster memory?
  virtual bool children_read() const { return false; }
  virtual void after_fork() {}
  virtual Status after_fork_in_child() { return {}; }

  virtual Stats stats() const = 0;
  virtual std::vector<ThreadStats> thread_stats() const = 0;
  // How faults are caught, for people: "userfaultfd, pages moved".
  virtual std::string mechanism() const = 0;

  // Serves until stop(). Returns an error of the store at once: pages are lost then, and no access to cluster
  // memory returns any more; the caller ends the program.
  virtual Status serve() = 0;
  virtual void stop() = 0;  // any thread
};

}  // namespace tasuki::pager
