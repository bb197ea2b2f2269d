// MPI windows of which several members are tasks of this space, and in which epochs this process is.
//
// The library makes every window, too: its attributes, groups, names and error handlers are the library's.
// If all members are here, synchronisation and data are Tasuki's alone: the library's window is never in an
// epoch, so that it reports a call out of place as it would. If some members are elsewhere (*mixed*), the
// library carries out all synchronisation, and Tasuki its own between the members here. Then
//   - puts and gets between members here are copies, in epochs in which nobody here may hold a lock against
//     them (fence, start, and locks with MPI_MODE_NOCHECK);
//   - all updates are the library's: they are atomic with those of members elsewhere.
#pragma once

#include <mpi.h>

#include <atomic>

#include "message/windows/window.h"
#include "shim/objects/comm.h"

namespace tasuki::shim {

// What this process may do to one member's part; several at once.
enum Access : uint8_t {
  kNoAccess = 0,
  kSharedLock = 1,
  kExclusiveLock = 2,
  kUncheckedLock = 4,  // the user says that nobody holds a lock against it: none is taken
  kStarted = 8,
  kAnyLock = kSharedLock | kExclusiveLock | kUncheckedLock,
};

struct WindowInfo {
  explicit WindowInfo(Engine& engine) : window(engine) {}

  MPI_Win win{};
  Window window;
  int count = 0;         // members
  int rank = 0;          // of this process
  int* index = nullptr;  // by rank: in `window`; kElsewhere
  bool mixed = false;
  bool dynamic = false;  // displacements are addresses
  MPI_Group group{};     // of the window

  // Epochs of this process.
  bool fenced = false;
  bool all_locked = false;
  bool all_unchecked = false;  // with MPI_MODE_NOCHECK
  uint8_t* access = nullptr;   // by rank: Access
  std::atomic<int> locked{0};  // members that are locked one by one
  bool started = false;        // members that are started, whose ranks are
  int* started_ranks = nullptr;
  int started_count = 0;
  bool exposed = false;
  uint32_t origins = 0;         // of the exposure, those here
  bool library_waited = false;  // the library's part of the exposure is over

  bool here(int r) const { return index[r] != kElsewhere; }
  bool is_locked(int r) const { return (access[r] & kAnyLock) != 0; }
  // Between lock and unlock, or start and complete: another epoch may not begin, nor the window be freed.
  bool accesses() const { return all_locked || started || locked.load(std::memory_order_relaxed) != 0; }
  bool may_access(int r) const { return fenced || all_locked || access[r] != kNoAccess; }
  // Whether this process moves the bytes of puts and gets itself.
  bool is_direct(int r) const {
    if (!here(r)) return false;
    if (!mixed) return may_access(r);
    return fenced || all_unchecked || (access[r] & (kUncheckedLock | kStarted)) != 0;
  }
  WindowPart& part(int r) const { return window.part(index[r]); }
};

class WindowTable {
 public:
  WindowTable(Engine& engine, CommTable& comms) : engine_(engine), comms_(comms) {}
  void open(bool threads) { map_.set_threads(threads); }

  // nullptr: the library's.
  WindowInfo* find(MPI_Win win) { return map_.find(key_of(win)); }

  // Collective over the members of `comm` that are here: they have made a window on it, this one with the
  // memory `base`. The window is the library's if `comm` is, or memory is exhausted on any of them.
  struct Memory {
    void* base;
    MPI_Aint displacement_unit;
    bool dynamic = false;
  };
  void adopt(MPI_Win win, MPI_Comm comm, const Memory& memory);

  // Before the window is freed: all members here have arrived, and the library's handle may be reused.
  void forget(WindowInfo* w);

 private:
  bool fill(WindowInfo* w, const CommInfo* c, const Memory& memory);
  static void discard(WindowInfo* w);

  Engine& engine_;
  CommTable& comms_;
  BarrierPool barriers_;
  HandleMap<WindowInfo> map_;
};

}  // namespace tasuki::shim
