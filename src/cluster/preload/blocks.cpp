// The blocks of this process: which addresses are cluster memory, and what was asked for there.
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdlib>
#include <map>
#include <new>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "cluster/preload/internal_memory.h"
#include "cluster/preload/preload.h"
#include "cluster/wrappers/forks.h"
#include "cluster/wrappers/pinning.h"
#include "elf/loaded.h"
#include "os/memory/host_memory.h"
#include "os/memory/mapping.h"
#include "os/process/thread.h"
#include "pager/pager.h"
#include "pager/run_set.h"
#include "tasuki/dlm.h"

namespace tasuki::cluster::preload {

std::atomic<size_t> g_threshold{SIZE_MAX}, g_map_threshold{SIZE_MAX};

namespace {

// The allocator's own nodes are small, hence local, and made by a thread that is marked internal.
using Table = std::map<uintptr_t, Block>;
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
alignas(Table) unsigned char g_storage[sizeof(Table)];
Table* g_blocks = nullptr;  // never destroyed: blocks are freed while the process ends

std::atomic<size_t> g_reserved{0};  // bytes of blocks

// The pager does not know (a forked child, or it has ended): the table is the only witness.
std::atomic<bool> g_alone{false};

class Locked {
 public:
  Locked() { pthread_mutex_lock(&g_lock); }
  ~Locked() { pthread_mutex_unlock(&g_lock); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  InternalScope internal_;
};

elf::LoadedRange g_libc, g_linker;

int find_code(dl_phdr_info* info, size_t, void*) {
  const elf::LoadedRange range = elf::loaded_range(*info);
  if (range.holds(reinterpret_cast<uintptr_t>(&gnu_get_libc_version))) g_libc = range;
  if (info->dlpi_addr == getauxval(AT_BASE)) g_linker = range;
  return 0;
}

// More than any address space has: such a request fails without Tasuki, too, and is not worth a word.
constexpr size_t kMoreThanAddresses = size_t{1} << 57;

// A program that does not look at what it gets dies of it, and one that does may try often: said once.
void* no_room(size_t bytes) {
  static std::atomic<bool> said{false};
  dlm_counters now;
  const InternalScope internal;
  if (bytes < kMoreThanAddresses && !said.exchange(true) && dlm_stats(&now, sizeof now) == 0)
    log(LogLevel::warning,
        "no room for an allocation of %zu MiB, which fails: %" PRIu64 " MiB are in use, of %" PRIu64
        " MiB here and %" PRIu64 " MiB beyond it (more ranks, --memory or --store give more)",
        bytes >> 20, now.allocated_bytes >> 20, now.local_bytes >> 20, now.server_bytes >> 20);
  errno = ENOMEM;
  return nullptr;
}

// In a forked child where blocks have no memory: their addresses stay theirs. What the child allocates there
// would be taken for a part of a block. (Blocks that were never sent anywhere are there still.)
void keep_addresses() {
  for (const auto& [begin, block] : *g_blocks)
    os::reserve(os::page_ceil(block.bytes), reinterpret_cast<void*>(begin));
}

// Out of the table.
void forget(Table::iterator block) {
  if (block->second.origin == Origin::reserve) g_reserved.fetch_sub(block->second.bytes);
  delete block->second.holes;
  g_blocks->erase(block);
}

void* from_cluster(size_t bytes, size_t alignment) {
  return alignment <= 64 ? dlm_alloc(bytes) : dlm_aligned_alloc(alignment, bytes);
}

// Not under the lock: a free may run into pages that are on their way.
void give_back(void* p) {
  const InternalScope internal;
  const os::NoCancellation none;
  if (!g_alone.load()) dlm_free(p);
}

}  // namespace

bool may_reserve(size_t bytes) {
  dlm_counters now;
  const InternalScope internal;
  return dlm_stats(&now, sizeof now) == 0 && bytes <= now.server_bytes / 16 &&
         g_reserved.load() + bytes <= now.server_bytes / 4;
}

void* allocate(size_t bytes, size_t alignment, Origin origin) {
  void* p;
  {
    const InternalScope internal;
    const os::NoCancellation none;  // a thread must not end in malloc
    p = from_cluster(bytes, alignment);
  }
  if (p == nullptr) return origin != Origin::small ? no_room(bytes) : nullptr;
  if (origin == Origin::reserve) g_reserved.fetch_add(bytes);
  const Locked locked;
  (*g_blocks)[reinterpret_cast<uintptr_t>(p)] = {bytes, origin, nullptr};
  return p;
}

bool find_block_around(const void* p, uintptr_t* begin, Block* block) {
  if (g_blocks == nullptr || !g_cluster.near(p) || !listed(p)) return false;
  const uintptr_t address = reinterpret_cast<uintptr_t>(p);
  const Locked locked;
  auto found = g_blocks->upper_bound(address);
  if (found == g_blocks->begin()) return false;
  --found;
  if (address - found->first >= found->second.bytes) return false;
  *begin = found->first;
  *block = found->second;
  return true;
}

size_t part_at(const void* p, size_t bytes) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(p);
  const Locked locked;
  const auto next = g_blocks->upper_bound(begin);
  uintptr_t end = next != g_blocks->end() ? next->first : UINTPTR_MAX;
  if (next != g_blocks->begin()) {
    const auto& [first, block] = *std::prev(next);
    if (begin < first + os::page_ceil(block.bytes)) end = first + os::page_ceil(block.bytes);
  }
  return std::min<uintptr_t>(bytes, end - begin);
}

bool release(void* p) {
  {
    const Locked locked;
    const auto found = g_blocks->find(reinterpret_cast<uintptr_t>(p));
    if (found == g_blocks->end()) return false;
    forget(found);
  }
  give_back(p);
  return true;
}

bool let_go(uintptr_t begin) {
  void* const p = reinterpret_cast<void*>(begin);
  pager::Pager* const pager = attached_pager();
  const InternalScope internal;
  if (pager == nullptr) return false;
  const size_t bytes = pager->size_of(p);
  if (!pager->let_go(p).ok()) return false;
  forget_allocation(p, bytes);
  const Locked locked;
  if (const auto found = g_blocks->find(begin); found != g_blocks->end()) forget(found);
  return true;
}

void let_go_small() {
  uint64_t total = 0;
  std::vector<uintptr_t> chunks;
  {
    const Locked locked;
    for (const auto& [begin, block] : *g_blocks) {
      if (block.origin != Origin::small) continue;
      total += block.bytes;
      chunks.push_back(begin);
    }
  }
  if (total > os::host_memory().available / 2) return;
  for (const uintptr_t chunk : chunks) let_go(chunk);
}

void* resize(void* p, size_t bytes) {
  Block block{};
  {
    const Locked locked;
    const auto found = g_blocks->find(reinterpret_cast<uintptr_t>(p));
    block = found->second;
    // Out of the table while it moves: another thread may be given the old address.
    g_blocks->erase(found);
  }
  void* moved;
  {
    const InternalScope internal;
    const os::NoCancellation none;
    moved = dlm_realloc(p, bytes);
  }
  if (moved == nullptr) {
    {
      const Locked locked;
      (*g_blocks)[reinterpret_cast<uintptr_t>(p)] = block;
    }
    return errno == ENOMEM ? no_room(bytes) : nullptr;
  }
  if (block.origin == Origin::reserve) g_reserved.fetch_add(bytes - block.bytes);
  const Locked locked;
  (*g_blocks)[reinterpret_cast<uintptr_t>(moved)] = {bytes, block.origin, nullptr};
  return moved;
}

void unmapped(uintptr_t begin, const void* piece, size_t bytes) {
  {
    const Locked locked;
    const auto found = g_blocks->find(begin);
    if (found == g_blocks->end()) return;
    Block& block = found->second;
    if (block.holes == nullptr) block.holes = new pager::RunSet;
    block.holes->unite(reinterpret_cast<uintptr_t>(piece) / os::page_size(), bytes / os::page_size());
    if (block.holes->total() < os::page_ceil(block.bytes) / os::page_size()) return;
    forget(found);
  }
  give_back(reinterpret_cast<void*>(begin));
}

void mapped_again(uintptr_t begin, const void* piece, size_t bytes) {
  const Locked locked;
  const auto found = g_blocks->find(begin);
  if (found == g_blocks->end() || found->second.holes == nullptr) return;
  found->second.holes->subtract(reinterpret_cast<uintptr_t>(piece) / os::page_size(),
                                bytes / os::page_size());
}

bool from_libc(const void* code) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(code);
  return g_libc.holds(at) || g_linker.holds(at);
}

bool is_alone() {
  return g_alone.load();
}

bool wants_cluster() {
  return t_internal == 0;
}

void activate() {
  g_blocks = new (g_storage) Table;
  dl_iterate_phdr(find_code, nullptr);
  prepare_explanation();
  set_fork_hooks({[] {
                    lock_small();
                    pthread_mutex_lock(&g_lock);
                    lock_internal();
                  },
                  [] {
                    unlock_internal();
                    pthread_mutex_unlock(&g_lock);
                    unlock_small();
                  },
                  [](bool has_memory) {
                    unlock_internal();
                    pthread_mutex_unlock(&g_lock);
                    unlock_small();
                    deactivate();
                    if (has_memory) return;
                    keep_addresses();
                    explain_faults();
                  }});
  g_threshold.store(std::max<size_t>(setting_bytes("TASUKI_MEM_THRESHOLD"), 1));
  // Allocators carve small objects out of what they map, and small objects go to system calls of all kinds:
  // only where the kernel can serve its own faults. And not where the pager's thread would have its own among
  // them.
  const int maps = setting_choice("TASUKI_MEM_MMAP");
  if (maps == 1 || (maps == 0 && !needs_pin() && is_asked())) g_map_threshold.store(g_threshold.load());
  begin_small();
}

void deactivate() {
  g_alone.store(true);
  g_look_after.store(SIZE_MAX);
  g_threshold.store(SIZE_MAX);
  g_map_threshold.store(SIZE_MAX);
}

}  // namespace tasuki::cluster::preload
