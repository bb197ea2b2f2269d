#include "task/object/kept.h"

#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <atomic>

#include "base/settings.h"
#include "os/memory/mapping.h"
#include "os/process/signals.h"
#include "os/raw.h"
#include "task/object/exports.h"
#include "task/space.h"

namespace {

using tasuki::os::page_ceil;
using tasuki::os::page_floor;
using tasuki::os::page_size;
using tasuki::os::raw_arg;
using tasuki::os::raw_syscall;

// From 16 MiB the page faults take so long that one lock for all of them is not noticed: 1.1 of plain.
constexpr size_t kLongest = size_t{4} << 20;
// For each task, so that 128 tasks hold no more than 1 GiB.
constexpr size_t kMost = size_t{8} << 20;

// Of memory that was given out again so many pages are looked at.
constexpr size_t kSamples = 16;

struct Piece {
  uintptr_t begin = 0, end = 0;
  unsigned node = 0;     // of kept memory: the NUMA node of the thread that unmapped it
  bool cleared = false;  // of memory in use: it was kept before, so all of it is in memory in any case
  long going = 0;        // of kept memory: the thread that is unmapping it

  size_t length() const { return end - begin; }
  bool is(const Piece& other) const { return begin == other.begin && end == other.end; }
  bool touches(const Piece& other) const { return begin < other.end && other.begin < end; }
};

// A few pieces, the oldest first.
template <size_t kCapacity>
struct Pieces {
  size_t count = 0;
  Piece all[kCapacity] = {};

  Piece remove(size_t i) {
    const Piece removed = all[i];
    memmove(all + i, all + i + 1, (--count - i) * sizeof(Piece));
    return removed;
  }
  // The first of which that is true; `count` if there is none.
  template <typename Wanted>
  size_t find(Wanted wanted) const {
    size_t i = 0;
    while (i < count && !wanted(all[i])) i++;
    return i;
  }
  bool full() const { return count == kCapacity; }
  // In place of the oldest, if there is no room.
  void add(const Piece& p) {
    if (full()) remove(0);
    all[count++] = p;
  }
};

// Held by threads that block all signals.
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
constinit Pieces<256> g_plain;  // mapped by the program, as the kernel made it
constinit Pieces<32> g_kept;
size_t g_held;               // bytes of g_kept
std::atomic<size_t> g_some;  // pieces of both kinds: nearly always none at all
std::atomic<int> g_on{-1};   // -1: not known yet

bool unlimited(__rlimit_resource resource) {
  rlimit limit;
  return getrlimit(resource, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

bool on() {
  int known = g_on.load(std::memory_order_relaxed);
  if (known < 0) {
    const tasuki::task::TaskSlot* slot = tasuki::task::self();
    const bool may = slot != nullptr && slot->key == 0 && tasuki::setting_flag("TASUKI_KEEP") &&
                     unlimited(RLIMIT_AS) && unlimited(RLIMIT_DATA);
    known = may ? 1 : 0;
    int unknown = -1;
    if (!g_on.compare_exchange_strong(unknown, known)) known = unknown;
  }
  return known == 1;
}

unsigned here() {
  unsigned cpu = 0, node = 0;
  return getcpu(&cpu, &node) == 0 ? node : 0;
}

class Locked {
 public:
  Locked() { pthread_mutex_lock(&g_lock); }
  ~Locked() {
    g_some.store(g_plain.count + g_kept.count, std::memory_order_relaxed);
    pthread_mutex_unlock(&g_lock);
  }
  Locked(const Locked&) = delete;
};

bool some() {
  return g_some.load(std::memory_order_relaxed) != 0;
}

Piece piece(const void* at, size_t length) {
  const uintptr_t begin = page_floor(reinterpret_cast<uintptr_t>(at));
  const uintptr_t last = reinterpret_cast<uintptr_t>(at) + length;
  return {begin, last < begin || last > UINTPTR_MAX - page_size() ? UINTPTR_MAX : page_ceil(last)};
}

void forget_plain(const Piece& where) {
  for (size_t i = g_plain.count; i-- > 0;)
    if (g_plain.all[i].touches(where)) g_plain.remove(i);
}

// What to do about pieces that another thread is unmapping.
enum class Going : bool { skip, wait_for };

// Unmaps the oldest kept piece that touches the range; false if there is none, or the kernel cannot (it has
// no room to cut a mapping in two). The piece stays in the table until it is gone, so that threads that need
// its place wait for that. A library that looks at what is unmapped (UCX) may come here from that very
// munmap: it does not wait for itself. Signals are blocked.
bool unmap_one(const Piece& where, Going going) {
  const long me = raw_syscall(SYS_gettid);
  for (;;) {
    Piece p;
    {
      const Locked lock;
      const size_t i = g_kept.find([&](const Piece& k) {
        return k.touches(where) && (k.going == 0 || (going == Going::wait_for && k.going != me));
      });
      if (i == g_kept.count) return false;
      if (g_kept.all[i].going == 0) {
        g_kept.all[i].going = me;
        p = g_kept.all[i];
      }
    }
    if (p.going == 0) {
      raw_syscall(SYS_sched_yield);
      continue;
    }
    const auto next = TASUKI_NEXT(int (*)(void*, size_t), "munmap");
    const bool gone = next(reinterpret_cast<void*>(p.begin), p.length()) == 0;
    const Locked lock;
    const size_t i = g_kept.find([&](const Piece& k) { return k.is(p) && k.going == me; });
    g_kept.all[i].going = 0;
    if (!gone) return false;
    g_kept.remove(i);
    g_held -= p.length();
    return true;
  }
}

// Signals are blocked.
bool unmap_all_in(const Piece& where) {
  bool any = false;
  while (unmap_one(where, Going::wait_for)) any = true;
  return any;
}

// Whether all of it is in memory. What is not was never touched, and to clear it would be to touch it; or it
// is in swap space.
bool all_there(const Piece& p) {
  constexpr size_t kSmallestPage = 4096;  // of any kernel
  unsigned char there[kLongest / kSmallestPage];
  const long length = static_cast<long>(p.length());
  if (raw_syscall(SYS_mincore, static_cast<long>(p.begin), length, raw_arg(there)) != 0) return false;
  for (size_t i = 0; i < p.length() / page_size(); i++)
    if ((there[i] & 1) == 0) return false;
  return true;
}

// Whether half of the pages or more, by a sample, have something in them. A program that touches little of
// what it maps would pay for clearing all of it.
bool used(const Piece& p) {
  const size_t pages = p.length() / page_size(), samples = pages < kSamples ? pages : kSamples;
  size_t found = 0;
  for (size_t i = 0; i < samples; i++) {
    const char* page = reinterpret_cast<const char*>(p.begin + pages * i / samples * page_size());
    if (page[0] != 0 || memcmp(page, page + 1, page_size() - 1) != 0) found++;
  }
  return 2 * found >= samples;
}

// Whether memory comes from where it always comes from: of this thread, or of what it has mapped there.
// (libnuma makes its system calls itself.) Where it cannot be asked, it cannot be set.
bool default_policy(const void* at) {
  int policy = MPOL_DEFAULT;
  raw_syscall(SYS_get_mempolicy, raw_arg(&policy), 0, 0, raw_arg(at), at != nullptr ? MPOL_F_ADDR : 0);
  return policy == MPOL_DEFAULT;
}

}  // namespace

namespace tasuki::task {

void* take_kept(size_t length) {
  if (!some() || length == 0 || length > kLongest || !default_policy(nullptr)) return nullptr;
  length = page_ceil(length);
  const unsigned node = here();
  Piece taken;
  {
    const Locked lock;
    for (size_t i = g_kept.count; i-- > 0 && taken.end == 0;) {
      const Piece& p = g_kept.all[i];
      if (p.length() == length && p.node == node && p.going == 0) taken = g_kept.remove(i);
    }
    if (taken.end == 0) return nullptr;
    g_held -= length;
    taken.cleared = true;
    g_plain.add(taken);
  }
  return memset(reinterpret_cast<void*>(taken.begin), 0, length);
}

void note_plain(const void* at, size_t length) {
  if (length > kLongest || !on()) return note_other(at, length);
  const Piece p = piece(at, length);
  const Locked lock;
  forget_plain(p);
  g_plain.add(p);
}

bool keep(void* at, size_t length) {
  if (!some() || length == 0 || length > kLongest) return false;
  if (reinterpret_cast<uintptr_t>(at) % page_size() != 0) return false;
  Piece p = piece(at, length);
  {
    const Locked lock;
    const size_t i = g_plain.find([&](const Piece& plain) { return plain.is(p); });
    if (i == g_plain.count) return false;
    p = g_plain.remove(i);
  }
  const void* const last = reinterpret_cast<const void*>(p.end - page_size());
  if (!on() || !all_there(p) || !default_policy(nullptr)) return false;
  // Of memory in one piece: a part in the middle that is bound alone is not seen.
  if (!default_policy(at) || !default_policy(last)) return false;
  if (p.cleared && !used(p)) return false;
  p.node = here();
  for (;;) {
    {
      const Locked lock;
      if (!on()) return false;
      if (!g_kept.full() && g_held + p.length() <= kMost) {
        g_kept.add(p);
        g_held += p.length();
        return true;
      }
    }
    if (!unmap_one({0, UINTPTR_MAX}, Going::skip)) return false;
  }
}

void note_other(const void* at, size_t length) {
  if (!some()) return;
  const os::SignalsBlocked quiet;
  const Locked lock;
  forget_plain(piece(at, length));
}

void give_back(const void* at, size_t length) {
  if (length == 0 || !some()) return;
  const Piece where = piece(at, length);
  const os::SignalsBlocked quiet;
  {
    const Locked lock;
    forget_plain(where);
  }
  unmap_all_in(where);
}

bool give_all_back() {
  if (!some()) return false;
  const os::SignalsBlocked quiet;
  return unmap_all_in({0, UINTPTR_MAX});
}

void keep_no_more() {
  const os::SignalsBlocked quiet;
  {
    const Locked lock;
    g_on.store(0, std::memory_order_relaxed);
    forget_plain({0, UINTPTR_MAX});
  }
  unmap_all_in({0, UINTPTR_MAX});
}

}  // namespace tasuki::task

namespace {

// Nobody else would: what a task has mapped stays until the last task of its space has ended.
__attribute__((destructor)) void give_back_at_end() {
  if (tasuki::task::self() != nullptr) tasuki::task::keep_no_more();
}

}  // namespace
