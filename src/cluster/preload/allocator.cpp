// malloc and its relatives.
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.h"
#include "cluster/heap/small_heap.h"
#include "cluster/preload/internal_memory.h"
#include "cluster/preload/preload.h"
#include "cluster/wrappers/libc.h"
#include "cluster/wrappers/pinning.h"
#include "os/memory/mapping.h"

namespace tasuki::cluster::preload {
namespace {

// What dlsym itself allocates while it looks for malloc. Never given back.
class Arena {
 public:
  void* take(size_t bytes, size_t alignment) {
    const size_t at = (used_ + alignment - 1) & ~(alignment - 1);
    if (bytes > sizeof bytes_ - at || at > sizeof bytes_) return nullptr;
    used_ = at + bytes;
    return bytes_ + at;
  }
  bool holds(const void* p) const {
    return static_cast<const char*>(p) >= bytes_ && static_cast<const char*>(p) < bytes_ + sizeof bytes_;
  }
  size_t left(const void* p) const {
    return static_cast<size_t>(bytes_ + sizeof bytes_ - static_cast<const char*>(p));
  }

 private:
  alignas(64) char bytes_[32 << 10] = {};
  size_t used_ = 0;
};
constinit Arena g_arena;

constinit Local g_local{};
std::atomic<bool> g_found{false};
constinit thread_local bool t_looking __attribute__((tls_model("initial-exec"))) = false;

template <typename Function>
void look_up(Function* function, const char* name) {
  *function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Where the program brings an allocator of its own.
constinit Local g_foreign{};

bool inside() {
  return t_internal != 0;
}
void* internal_realloc(void* p, size_t bytes) {
  const size_t before = is_internal(p) ? internal_bytes(p) : g_foreign.usable_size(p);
  void* const moved = take_internal(bytes, 16);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, std::min(before, bytes));
  local().free(p);
  return moved;
}
void* internal_calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* const p = take_internal(bytes, 16);
  return p != nullptr ? memset(p, 0, bytes) : nullptr;
}
int internal_posix_memalign(void** result, size_t alignment, size_t bytes) {
  const int error = errno;
  void* const p = take_internal(bytes, alignment);
  errno = error;
  if (p == nullptr) return ENOMEM;
  *result = p;
  return 0;
}

// Internal threads have memory of their own; everybody gives back what it got.
constexpr Local kApart = {
    [](size_t bytes) { return inside() ? take_internal(bytes, 16) : g_foreign.malloc(bytes); },
    [](size_t count, size_t size) {
      return inside() ? internal_calloc(count, size) : g_foreign.calloc(count, size);
    },
    [](void* p, size_t bytes) {
      if (!inside() && !is_internal(p)) return g_foreign.realloc(p, bytes);
      if (p == nullptr) return take_internal(bytes, 16);
      if (bytes > 0) return internal_realloc(p, bytes);
      local().free(p);
      return static_cast<void*>(nullptr);
    },
    [](void* p) { is_internal(p) ? give_internal(p) : g_foreign.free(p); },
    [](void** result, size_t alignment, size_t bytes) {
      return inside() ? internal_posix_memalign(result, alignment, bytes)
                      : g_foreign.posix_memalign(result, alignment, bytes);
    },
    [](size_t alignment, size_t bytes) {
      return inside() ? take_internal(bytes, alignment) : g_foreign.aligned_alloc(alignment, bytes);
    },
    [](size_t alignment, size_t bytes) {
      return inside() ? take_internal(bytes, alignment) : g_foreign.memalign(alignment, bytes);
    },
    [](size_t bytes) {
      return inside() ? take_internal(bytes, tasuki::os::page_size()) : g_foreign.valloc(bytes);
    },
    [](size_t bytes) {
      return inside() ? take_internal(bytes, tasuki::os::page_size()) : g_foreign.pvalloc(bytes);
    },
    [](void* p) { return is_internal(p) ? internal_bytes(p) : g_foreign.usable_size(p); },
};

// Are both in the same file?
bool together(const void* a, const void* b) {
  Dl_info of_a, of_b;
  return dladdr(a, &of_a) != 0 && dladdr(b, &of_b) != 0 && of_a.dli_fbase == of_b.dli_fbase;
}

// The same result in every thread, so that two may do it at once.
[[gnu::noinline]] void look_up_all() {
  t_looking = true;
  Local found;
  look_up(&found.malloc, "malloc");
  look_up(&found.calloc, "calloc");
  look_up(&found.realloc, "realloc");
  look_up(&found.free, "free");
  look_up(&found.posix_memalign, "posix_memalign");
  look_up(&found.aligned_alloc, "aligned_alloc");
  look_up(&found.memalign, "memalign");
  look_up(&found.valloc, "valloc");
  look_up(&found.pvalloc, "pvalloc");
  look_up(&found.usable_size, "malloc_usable_size");
  if (together(reinterpret_cast<const void*>(found.malloc),
               reinterpret_cast<const void*>(&gnu_get_libc_version))) {
    g_local = found;
  } else {
    g_foreign = found;
    g_local = kApart;
  }
  g_found.store(true, std::memory_order_release);
  t_looking = false;
}

bool is_power_of_two(size_t n) {
  return n != 0 && (n & (n - 1)) == 0;
}

constexpr size_t kMostAlignment = size_t{1} << 30;  // dlm.h: dlm_aligned_alloc

// What the thread has allocated in local memory, and not freed, since the last look.
constinit thread_local size_t t_more __attribute__((tls_model("initial-exec"))) = 0;

// Before an allocation in local memory. Not where libc may have a lock that who forks waits for.
void count_local(size_t bytes, const void* caller) {
  t_more += bytes;
  if (t_more < g_look_after.load(std::memory_order_relaxed) || !wants_cluster() || from_libc(caller))
      [[likely]]
    return;
  t_more = 0;
  look_at_small();
}
void count_freed(void* p) {
  if (!looks_at_small() || p == nullptr) return;
  const size_t bytes = local().usable_size(p);
  t_more -= std::min(t_more, bytes);
}

// Does an allocation of this size by this caller go to the cluster?
bool is_large(size_t bytes, const void* caller) {
  return bytes >= g_threshold.load(std::memory_order_relaxed) && wants_cluster() &&
         !(bytes <= kMostOfLibc && from_libc(caller));
}

// Somebody may map something else over whole pages.
bool is_large_aligned(size_t bytes, size_t alignment, const void* caller) {
  return is_large(bytes, caller) && (alignment < os::page_size() || !is_only_small(bytes));
}

[[noreturn]] void invalid_pointer(const char* function, const void* p) {
  log(LogLevel::error, "%s(): %p is not the beginning of an allocation (it lies in cluster memory)", function,
      p);
  abort();
}

// In cluster memory, zero-filled if asked for; a block always is.
void* take_cluster(size_t bytes, size_t alignment, bool zero) {
  if (bytes > PTRDIFF_MAX) {
    errno = ENOMEM;
    return nullptr;
  }
  if (takes_small(bytes, alignment)) {
    void* const p = take_small(bytes, alignment, zero);
    if (p != nullptr) return p;
    // Plainly there would be room.
    if (is_only_small(bytes)) return zero ? local().calloc(1, bytes) : local().memalign(alignment, bytes);
  }
  return allocate(bytes, std::max<size_t>(alignment, 64), Origin::malloc);
}

// The block of malloc's that holds p, and where it begins. What is in one of mmap's is another allocator's
// affair.
bool find_malloced(const void* p, uintptr_t* begin, Block* block) {
  return find_block_around(p, begin, block) && !block->mapped();
}

// Of malloc's: how many bytes of an allocation can be used; 0: none begins there, although it is cluster
// memory.
size_t bytes_at(void* p) {
  if (is_small(p)) return small_bytes(p);
  uintptr_t begin;
  Block block;
  if (!find_malloced(p, &begin, &block)) return local().usable_size(p);
  return begin == reinterpret_cast<uintptr_t>(p) ? block.bytes : 0;
}

void give(const char* function, void* p) {
  const int error = errno;
  uintptr_t begin;
  Block block;
  if (is_small(p)) {
    if (!give_small(p)) invalid_pointer(function, p);
  } else if (find_malloced(p, &begin, &block)) {
    if (!release(p)) invalid_pointer(function, p);
  } else {
    count_freed(p);
    local().free(p);
  }
  errno = error;
}

// realloc of what is in cluster memory, or is to be there.
void* move(void* p, size_t bytes, bool large) {
  uintptr_t begin;
  Block found;
  const bool small = is_small(p), block = !small && find_malloced(p, &begin, &found);
  if (!small && !block && !large) return local().realloc(p, bytes);
  const size_t before = bytes_at(p);
  if (before == 0 && (small || block)) invalid_pointer("realloc", p);
  if (block && large && !takes_small(bytes, 16)) return resize(p, bytes);
  if (small && large && SmallHeap::stays(before, bytes)) return p;
  void* const moved = large ? take_cluster(bytes, 16, false) : local().malloc(bytes);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, std::min(before, bytes));
  give("realloc", p);
  return moved;
}

}  // namespace

bool is_foreign() {
  return g_foreign.malloc != nullptr;
}

bool is_asked() {
  const void* const first = dlsym(RTLD_DEFAULT, "malloc");
  if (together(first, reinterpret_cast<const void*>(&is_asked))) return true;
  // A program at fixed addresses that only uses it has an entry of its own, by which it comes to us.
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  return dladdr1(first, &info, const_cast<void**>(reinterpret_cast<const void**>(&symbol)), RTLD_DL_SYMENT) !=
             0 &&
         symbol != nullptr && symbol->st_shndx == SHN_UNDEF;
}

const Local& local() {
  if (!g_found.load(std::memory_order_acquire)) [[unlikely]]
    look_up_all();
  return g_local;
}

}  // namespace tasuki::cluster::preload

using namespace tasuki::cluster::preload;
using tasuki::cluster::g_cluster;

#define TASUKI_CALLER __builtin_extract_return_addr(__builtin_return_address(0))

TASUKI_WRAPPER(void*, malloc, size_t bytes) {
  if (bytes >= g_threshold.load(std::memory_order_relaxed)) [[unlikely]] {
    if (bytes > PTRDIFF_MAX) {
      errno = ENOMEM;
      return nullptr;
    }
    if (is_large(bytes, TASUKI_CALLER)) return take_cluster(bytes, 16, false);
  }
  if (t_looking) [[unlikely]]
    return g_arena.take(bytes, 16);
  count_local(bytes, TASUKI_CALLER);
  return local().malloc(bytes);
}

TASUKI_WRAPPER(void, free, void* p) {
  if (g_cluster.near(p)) [[unlikely]]
    return give("free", p);
  if (g_arena.holds(p)) [[unlikely]]
    return;
  count_freed(p);
  local().free(p);
}

TASUKI_WRAPPER(void*, calloc, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > PTRDIFF_MAX) {
    errno = ENOMEM;
    return nullptr;
  }
  if (is_large(bytes, TASUKI_CALLER)) return take_cluster(bytes, 16, true);
  if (t_looking) [[unlikely]]
    return g_arena.take(bytes, 16);
  count_local(bytes, TASUKI_CALLER);
  return local().calloc(count, size);
}

TASUKI_WRAPPER(void*, realloc, void* p, size_t bytes) {
  const bool large = is_large(bytes, TASUKI_CALLER);
  if (p == nullptr) {
    if (large) return take_cluster(bytes, 16, false);
    count_local(bytes, TASUKI_CALLER);
    return t_looking ? g_arena.take(bytes, 16) : local().malloc(bytes);
  }
  if (g_arena.holds(p)) [[unlikely]] {
    void* moved = local().malloc(bytes);
    if (moved != nullptr) memcpy(moved, p, std::min(bytes, g_arena.left(p)));
    return moved;
  }
  if (!large && !g_cluster.near(p)) [[likely]] {
    count_freed(p);
    count_local(bytes, TASUKI_CALLER);
    return local().realloc(p, bytes);
  }
  if (bytes == 0) {  // as libc does
    give("realloc", p);
    return nullptr;
  }
  return move(p, bytes, large);
}

TASUKI_WRAPPER(void*, reallocarray, void* p, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return tasuki_dlm_realloc(p, bytes);
}

TASUKI_WRAPPER(int, posix_memalign, void** result, size_t alignment, size_t bytes) {
  if (!is_large_aligned(bytes, alignment, TASUKI_CALLER) || alignment > kMostAlignment)
    return local().posix_memalign(result, alignment, bytes);
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;
  void* p = take_cluster(bytes, alignment, false);
  errno = error;
  if (p == nullptr) return ENOMEM;
  *result = p;
  return 0;
}

TASUKI_WRAPPER(void*, aligned_alloc, size_t alignment, size_t bytes) {
  if (!is_large_aligned(bytes, alignment, TASUKI_CALLER) || alignment > kMostAlignment ||
      !is_power_of_two(alignment))
    return local().aligned_alloc(alignment, bytes);
  return take_cluster(bytes, alignment, false);
}

TASUKI_WRAPPER(void*, memalign, size_t alignment, size_t bytes) {
  if (!is_large_aligned(bytes, alignment, TASUKI_CALLER) || alignment > kMostAlignment ||
      !is_power_of_two(alignment))
    return local().memalign(alignment, bytes);
  return take_cluster(bytes, alignment, false);
}

TASUKI_WRAPPER(void*, valloc, size_t bytes) {
  if (!is_large_aligned(bytes, tasuki::os::page_size(), TASUKI_CALLER)) return local().valloc(bytes);
  return take_cluster(bytes, tasuki::os::page_size(), false);
}

TASUKI_WRAPPER(void*, pvalloc, size_t bytes) {
  if (!is_large_aligned(bytes, tasuki::os::page_size(), TASUKI_CALLER)) return local().pvalloc(bytes);
  size_t rounded;
  if (__builtin_add_overflow(bytes, tasuki::os::page_size() - 1, &rounded)) {
    errno = ENOMEM;
    return nullptr;
  }
  return take_cluster(tasuki::os::page_floor(rounded), tasuki::os::page_size(), false);
}

TASUKI_WRAPPER(size_t, malloc_usable_size, void* p) {
  if (g_arena.holds(p)) return 0;
  return g_cluster.near(p) ? bytes_at(p) : local().usable_size(p);
}

// libc's own would be taken for libc's.
TASUKI_WRAPPER(char*, strndup, const char* text, size_t most) {
  const size_t length = strnlen(text, most);
  char* const copy = static_cast<char*>(malloc(length + 1));
  if (copy == nullptr) return nullptr;
  memcpy(copy, text, length);
  copy[length] = 0;
  return copy;
}
TASUKI_WRAPPER(char*, strdup, const char* text) {
  const size_t bytes = strlen(text) + 1;
  void* const copy = malloc(bytes);
  return copy != nullptr ? static_cast<char*>(memcpy(copy, text, bytes)) : nullptr;
}
