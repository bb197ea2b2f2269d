// MPI windows from their making to their end, and all that orders accesses to them. Data moves in
// one_sided.cpp; which part is Tasuki's and which the library's: objects/windows.h.
#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "generated/pmpi.h"
#include "os/process/cpu.h"
#include "shim/calls/task_state.h"
#include "shim/objects/windows.h"

namespace tasuki::shim::delegate {
namespace {

// All operations of this process are complete at their targets already: only the order of memory is left.
void order() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// Who polls another one's memory between flushes gives its core away now and then when tasks outnumber cores,
// and lets messages and the library progress.
void flushed() {
  constexpr uint32_t kYieldEvery = 64;
  order();
  g_process.engine.count_call();
  if (!g_process.engine.options().wait.oversubscribed) return;
  static std::atomic<uint32_t> flushes{0};
  if (flushes.fetch_add(1, std::memory_order_relaxed) % kYieldEvery == kYieldEvery - 1) os::cpu_yield();
}

bool is_rank(const WindowInfo* w, int rank) {
  return rank >= 0 && rank < w->count;
}

// The ranks in the window of a group's members; the caller frees it. nullptr: no memory, or the library knows
// what is wrong.
int* ranks_of(const WindowInfo* w, MPI_Group group, int* n) {
  if (group == MPI_GROUP_NULL || pmpi().Group_size(group, n) != MPI_SUCCESS) return nullptr;
  int* ranks = static_cast<int*>(malloc(sizeof(int) * 2 * (static_cast<size_t>(*n) + 1)));
  if (ranks == nullptr) return nullptr;
  int* in_group = ranks + *n + 1;
  for (int i = 0; i < *n; i++) in_group[i] = i;
  const bool members = pmpi().Group_translate_ranks(group, *n, in_group, w->group, ranks) == MPI_SUCCESS &&
                       std::all_of(ranks, ranks + *n, [&](int r) { return is_rank(w, r); });
  if (members) return ranks;
  free(ranks);
  return nullptr;
}

bool unchecked(int assertion) {
  return (assertion & MPI_MODE_NOCHECK) != 0;
}

int made(int rc, const MPI_Win* win, MPI_Comm comm, const WindowTable::Memory& memory) {
  if (rc == MPI_SUCCESS) g_process.windows.adopt(*win, comm, memory);
  return rc;
}

// Of a window whose members are all here; false: not for Tasuki to do, since it makes no sense.
bool take_lock(WindowInfo* w, bool exclusive, int rank, bool check) {
  if (w->all_locked || w->started || w->is_locked(rank)) return false;
  if (check && !w->mixed) {
    if (exclusive)
      w->window.lock_exclusive(w->index[rank]);
    else
      w->window.lock_shared(w->index[rank]);
  }
  const Access taken = !check ? kUncheckedLock : exclusive ? kExclusiveLock : kSharedLock;
  w->access[rank] |= taken;
  w->locked.fetch_add(1, std::memory_order_relaxed);
  w->fenced = false;
  return true;
}

void release_lock(WindowInfo* w, int rank) {
  order();
  const uint8_t held = w->access[rank];
  w->access[rank] = held & kStarted;
  w->locked.fetch_sub(1, std::memory_order_relaxed);
  if (w->mixed) return;
  if ((held & kExclusiveLock) != 0) w->window.unlock_exclusive(w->index[rank]);
  if ((held & kSharedLock) != 0) w->window.unlock_shared(w->index[rank]);
}

void end_accesses(WindowInfo* w) {
  order();
  for (int i = 0; i < w->started_count; i++) {
    const int rank = w->started_ranks[i];
    w->access[rank] &= static_cast<uint8_t>(~kStarted);
    if (w->here(rank)) w->window.complete(w->index[rank]);
  }
  w->started = false;
}

}  // namespace

// ---- making and freeing

int win_create(void* base, MPI_Aint displacement_unit, MPI_Comm comm, const MPI_Win* win, Pass pass) {
  return made(pass(), win, comm, {base, displacement_unit});
}

int win_allocate(const void* base_address, MPI_Aint displacement_unit, MPI_Comm comm, const MPI_Win* win,
                 Pass pass) {
  const int rc = pass();
  void* base = rc == MPI_SUCCESS ? *static_cast<void* const*>(base_address) : nullptr;
  return made(rc, win, comm, {base, displacement_unit});
}

int win_create_dynamic(MPI_Comm comm, const MPI_Win* win, Pass pass) {
  return made(pass(), win, comm, {nullptr, 1, true});
}

int win_free(const MPI_Win* win, Pass pass) {
  WindowInfo* w = win != nullptr ? g_process.windows.find(*win) : nullptr;
  if (w == nullptr) return pass();
  if (w->accesses() || w->exposed) return w->mixed ? pass() : raise_in(*win, MPI_ERR_RMA_SYNC);
  g_process.windows.forget(w);
  return pass();
}

// ---- fence

int win_fence(int assertion, MPI_Win win, Pass pass) {
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr) return pass();
  if (!w->mixed && w->accesses()) return raise_in(win, MPI_ERR_RMA_SYNC);
  order();
  // The library first: what members elsewhere have sent to a member here is complete when that one leaves the
  // library's fence, and no copy of the next epoch may come before it.
  const int rc = w->mixed ? pass() : MPI_SUCCESS;
  w->window.synchronise();
  w->fenced = (assertion & MPI_MODE_NOSUCCEED) == 0;
  return rc;
}

// ---- post, start, complete, wait

int win_post(MPI_Group group, MPI_Win win, Pass pass) {
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr) return pass();
  if (!w->mixed && w->exposed) return raise_in(win, MPI_ERR_RMA_SYNC);
  int n = 0;
  int* ranks = ranks_of(w, group, &n);
  if (ranks == nullptr) return pass();
  const int rc = w->mixed ? pass() : MPI_SUCCESS;
  if (rc == MPI_SUCCESS) {
    order();
    w->exposed = true;
    w->library_waited = false;
    w->origins = 0;
    for (int i = 0; i < n; i++) {
      if (!w->here(ranks[i])) continue;
      w->origins++;
      w->window.post(w->index[ranks[i]]);
    }
  }
  free(ranks);
  return rc;
}

int win_start(MPI_Group group, MPI_Win win, Pass pass) {
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr) return pass();
  if (!w->mixed && w->accesses()) return raise_in(win, MPI_ERR_RMA_SYNC);
  int n = 0;
  int* ranks = ranks_of(w, group, &n);
  if (ranks == nullptr) return pass();
  const int rc = w->mixed ? pass() : MPI_SUCCESS;
  if (rc == MPI_SUCCESS) {
    w->fenced = false;
    w->started = true;
    w->started_count = n;
    std::copy_n(ranks, n, w->started_ranks);
    for (int i = 0; i < n; i++) {
      if (w->here(ranks[i])) w->window.start(w->index[ranks[i]]);
      w->access[ranks[i]] |= kStarted;
    }
  }
  free(ranks);
  return rc;
}

int win_complete(MPI_Win win, Pass pass) {
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr || !w->started) return pass();
  end_accesses(w);
  return w->mixed ? pass() : MPI_SUCCESS;
}

int win_wait(MPI_Win win, Pass pass) {
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr || !w->exposed) return pass();
  const int rc = w->mixed && !w->library_waited ? pass() : MPI_SUCCESS;
  if (rc != MPI_SUCCESS) return rc;
  w->window.wait(w->origins);
  w->exposed = false;
  return rc;
}

// A library may look before it progresses (MPICH does): what has come while Tasuki waited, in a barrier that
// would have seen it, is found by a second look.
int win_test(MPI_Win win, int* flag, Pass pass) {
  const auto by_library = [&] {
    const int rc = pass();
    return rc == MPI_SUCCESS && flag != nullptr && *flag == 0 ? pass() : rc;
  };
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr || !w->exposed || flag == nullptr) return by_library();
  if (w->mixed && !w->library_waited) {
    const int rc = by_library();
    if (rc != MPI_SUCCESS || *flag == 0) return rc;
    w->library_waited = true;
  }
  *flag = w->window.test(w->origins) ? 1 : 0;
  if (*flag != 0)
    w->exposed = false;
  else
    nothing_found();
  return MPI_SUCCESS;
}

// ---- locks

int win_lock(int type, int rank, int assertion, MPI_Win win, Pass pass) {
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr || (type != MPI_LOCK_SHARED && type != MPI_LOCK_EXCLUSIVE)) return pass();
  if (rank == MPI_PROC_NULL && !w->mixed) return MPI_SUCCESS;
  if (!is_rank(w, rank)) return pass();
  const int rc = w->mixed ? pass() : MPI_SUCCESS;
  if (rc != MPI_SUCCESS) return rc;
  if (take_lock(w, type == MPI_LOCK_EXCLUSIVE, rank, !unchecked(assertion)) || w->mixed) return rc;
  return raise_in(win, MPI_ERR_RMA_SYNC);
}

int win_unlock(int rank, MPI_Win win, Pass pass) {
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr) return pass();
  if (rank == MPI_PROC_NULL && !w->mixed) return MPI_SUCCESS;
  if (!is_rank(w, rank) || !w->is_locked(rank)) return pass();
  release_lock(w, rank);
  return w->mixed ? pass() : MPI_SUCCESS;
}

int win_lock_all(int assertion, MPI_Win win, Pass pass) {
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr) return pass();
  if (!w->mixed && w->accesses()) return raise_in(win, MPI_ERR_RMA_SYNC);
  const int rc = w->mixed ? pass() : MPI_SUCCESS;
  if (rc != MPI_SUCCESS) return rc;
  w->all_unchecked = unchecked(assertion);
  if (!w->mixed && !w->all_unchecked)
    for (int i = 0; i < w->window.count(); i++) w->window.lock_shared(i);
  w->fenced = false;
  w->all_locked = true;
  return rc;
}

int win_unlock_all(MPI_Win win, Pass pass) {
  WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr || !w->all_locked) return pass();
  order();
  if (!w->mixed && !w->all_unchecked)
    for (int i = 0; i < w->window.count(); i++) w->window.unlock_shared(i);
  w->all_locked = w->all_unchecked = false;
  return w->mixed ? pass() : MPI_SUCCESS;
}

// ---- within a lock

int win_flush(int rank, MPI_Win win, Pass pass) {
  const WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr) return pass();
  if (rank != MPI_PROC_NULL && (!is_rank(w, rank) || !(w->all_locked || w->is_locked(rank)))) return pass();
  flushed();
  return w->mixed ? pass() : MPI_SUCCESS;
}

int win_flush_all(MPI_Win win, Pass pass) {
  const WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr || !(w->all_locked || w->locked.load(std::memory_order_relaxed) != 0)) return pass();
  flushed();
  return w->mixed ? pass() : MPI_SUCCESS;
}

int win_sync(MPI_Win win, Pass pass) {
  const WindowInfo* w = g_process.windows.find(win);
  if (w == nullptr) return pass();
  flushed();
  return w->mixed ? pass() : MPI_SUCCESS;
}

}  // namespace tasuki::shim::delegate
