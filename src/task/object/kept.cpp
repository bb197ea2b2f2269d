#include "task/object/kept.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>

#include <atomic>

#include "base/settings.h"
#include "os/memory/mapping.h"
#include "os/raw.h"
#include "task/object/exports.h"
#include "task/space.h"

namespace {

using tasuki::os::kPageSize;
using tasuki::os::page_ceil;
using tasuki::os::page_floor;
using tasuki::os::raw_arg;
using tasuki::os::raw_syscall;

// From 16 MiB the page faults take so long that one lock for all of them is not noticed: 1.1 of plain.
constexpr size_t kLongest = size_t{4} << 20;
// For each task, so that 128 tasks hold no more than 1 GiB.
constexpr size_t kMost = size_t{8} << 20;

struct Piece {
  uintptr_t begin = 0, end = 0;
  unsigned node = 0;  // of kept memory: the NUMA node of the thread that unmapped it

  bool touches(uintptr_t from, uintptr_t to) const { return begin < to && from < end; }
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
  bool full() const { return count == kCapacity; }
  void add(const Piece& p) { all[count++] = p; }
};

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
constinit Pieces<256> g_plain;  // mapped by the program, as the kernel made it
constinit Pieces<32> g_kept;
size_t g_held;               // bytes of g_kept
std::atomic<size_t> g_some;  // pieces of both kinds: nearly always none at all
std::atomic<int> g_on{-1};   // -1: not known yet

bool on() {
  int known = g_on.load(std::memory_order_relaxed);
  if (known < 0) {
    const tasuki::task::TaskSlot* slot = tasuki::task::self();
    known = slot != nullptr && slot->key == 0 && tasuki::setting_flag("TASUKI_KEEP") ? 1 : 0;
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

void unmap(const Piece& p) {
  TASUKI_NEXT(int (*)(void*, size_t), "munmap")(reinterpret_cast<void*>(p.begin), p.end - p.begin);
}

// The oldest kept piece that touches the range; an empty one if there is none.
Piece take_kept_in(uintptr_t begin, uintptr_t end) {
  const Locked lock;
  for (size_t i = 0; i < g_kept.count; i++) {
    if (!g_kept.all[i].touches(begin, end)) continue;
    const Piece p = g_kept.remove(i);
    g_held -= p.end - p.begin;
    return p;
  }
  return {};
}

// Whether all of it is in memory. What is not was never touched, and to clear it would be to touch it; or it
// is in swap space.
bool all_there(void* at, size_t length) {
  unsigned char there[kLongest / kPageSize];
  const size_t pages = length / kPageSize;
  if (raw_syscall(SYS_mincore, raw_arg(at), static_cast<long>(length), raw_arg(there)) != 0) return false;
  for (size_t i = 0; i < pages; i++)
    if ((there[i] & 1) == 0) return false;
  return true;
}

}  // namespace

namespace tasuki::task {

void* take_kept(size_t length) {
  if (g_some.load(std::memory_order_relaxed) == 0 || length == 0 || length > kLongest) return nullptr;
  length = page_ceil(length);
  void* at = nullptr;
  const unsigned node = here();
  {
    const Locked lock;
    for (size_t i = g_kept.count; i-- > 0 && at == nullptr;) {
      const Piece& p = g_kept.all[i];
      if (p.end - p.begin != length || p.node != node) continue;
      at = reinterpret_cast<void*>(g_kept.remove(i).begin);
      g_held -= length;
    }
  }
  if (at != nullptr) memset(at, 0, length);
  return at;
}

void note_plain(const void* at, size_t length) {
  if (length > kLongest || !on()) return;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(at);
  const Locked lock;
  if (g_plain.full()) g_plain.remove(0);
  g_plain.add({begin, page_ceil(begin + length), 0});
}

bool keep(void* at, size_t length) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(at), end = page_ceil(begin + length);
  if (g_some.load(std::memory_order_relaxed) == 0 || length == 0 || length > kLongest) return false;
  {
    const Locked lock;
    const Piece* const last = g_plain.all + g_plain.count;
    const Piece* plain = g_plain.all;
    while (plain != last && (plain->begin != begin || plain->end != end)) plain++;
    if (plain == last) return false;
    g_plain.remove(static_cast<size_t>(plain - g_plain.all));
  }
  if (!on() || !all_there(at, end - begin)) return false;
  for (;;) {
    Piece oldest;
    {
      const Locked lock;
      if (!g_kept.full() && g_held + (end - begin) <= kMost) {
        g_kept.add({begin, end, here()});
        g_held += end - begin;
        return true;
      }
      oldest = g_kept.remove(0);
      g_held -= oldest.end - oldest.begin;
    }
    unmap(oldest);
  }
}

void give_back(const void* at, size_t length) {
  if (g_some.load(std::memory_order_relaxed) == 0 || length == 0) return;
  const uintptr_t begin = page_floor(reinterpret_cast<uintptr_t>(at));
  const uintptr_t end = length > UINTPTR_MAX - kPageSize - begin ? UINTPTR_MAX : page_ceil(begin + length);
  {
    const Locked lock;
    for (size_t i = g_plain.count; i-- > 0;)
      if (g_plain.all[i].touches(begin, end)) g_plain.remove(i);
  }
  for (Piece p = take_kept_in(begin, end); p.end != 0; p = take_kept_in(begin, end)) unmap(p);
}

bool give_all_back() {
  bool any = false;
  for (Piece p = take_kept_in(0, UINTPTR_MAX); p.end != 0; p = take_kept_in(0, UINTPTR_MAX)) {
    unmap(p);
    any = true;
  }
  return any;
}

void keep_no_more() {
  g_on.store(0, std::memory_order_relaxed);
  give_all_back();
}

}  // namespace tasuki::task
