// What the wrappers of system calls and the preload library know of cluster memory: which addresses it may
// have, and how to make a piece of it safe for the kernel.
//
//   internal thread   a thread of the pager or of the MPI library: it never gets cluster memory and never
// waits
//                     for a page, because it is the one that brings pages
//   near              inside the bounds of all allocations so far: two compares
//   listed            in 2 MiB of addresses that an allocation overlaps: one load more (near, where there is
// no address space for the table)
//   pinned            resident until unpinned (pager/pager.h)
//
// The runtime calls attach_pager, note_allocation, forget_allocation and detach_pager; everything else is for
// the wrappers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tasuki::pager {
class Pager;
}

namespace tasuki::cluster {

class Bounds {
 public:
  bool near(const void* p, size_t bytes) const {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(p);
    return begin < high_.load(std::memory_order_relaxed) &&
           begin + bytes > low_.load(std::memory_order_relaxed);
  }
  bool near(const void* p) const { return near(p, 1); }
  bool any() const { return high_.load(std::memory_order_relaxed) != 0; }
  void widen(uintptr_t low, uintptr_t high);
  void widen(const Bounds& other);
  void clear();

 private:
  std::atomic<uintptr_t> high_{0}, low_{UINTPTR_MAX};
};

extern Bounds g_cluster;  // every allocation so far
extern Bounds g_guarded;  // the same where the kernel needs pin(); else empty

// How many InternalScopes the thread is in. Initial-exec: read in malloc, which must not allocate to read it.
extern constinit thread_local unsigned t_internal __attribute__((tls_model("initial-exec")));

class InternalScope {
 public:
  InternalScope() { t_internal++; }
  ~InternalScope() { t_internal--; }
  InternalScope(const InternalScope&) = delete;
  InternalScope& operator=(const InternalScope&) = delete;
};

// The pager serves from now on; it outlives detach_pager(). A forked child is detached, or reads what there
// was (forks.h).
void attach_pager(pager::Pager* pager);
void detach_pager();
pager::Pager* attached_pager();  // nullptr: none
// In a forked child: from now on the kernel must not meet an absent page, whatever it could do for the
// parent.
void guard_all();
// To be called with every allocation before its address is handed out, and before it is freed.
void note_allocation(const void* p, size_t bytes);
void forget_allocation(const void* p, size_t bytes);

// Does an allocation overlap the 2 MiB of addresses that p is in? Also after detach_pager.
bool listed(const void* p);
// Is a byte of the range cluster memory now? False when there is no pager.
bool touches(const void* p, size_t bytes);
// Must the kernel not get this address as it is? False for internal threads.
bool is_guarded(const void* p, size_t bytes);
inline bool guarded(const void* p, size_t bytes = 1) {
  return g_guarded.near(p, bytes) && is_guarded(p, bytes);
}
// Is a byte of it cluster memory, and the thread one of the program? Whatever the kernel may do by itself:
// for calls after which it still uses the memory, or lets a device do so.
inline bool is_programs(const void* p, size_t bytes = 1) {
  return t_internal == 0 && g_cluster.near(p, bytes) && touches(p, bytes);
}
// The bytes of the allocation that begins at p; 0: none does.
size_t size_of(const void* p);

// Must the kernel not meet an absent page? (pager.h: needs_pin)
bool needs_pin();
// As Pager::pin and Pager::unpin, but less may be pinned, or nothing, when many threads pin at once; errno is
// kept.
size_t pin(const void* p, size_t bytes, bool write);
void unpin(const void* p, size_t bytes);
// May the program itself access all of it? What it may not, the kernel must be asked for: EFAULT.
bool permits(const void* p, size_t bytes, bool write);

}  // namespace tasuki::cluster
