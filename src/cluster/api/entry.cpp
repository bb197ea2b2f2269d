// dlm.h, on top of the pager; but for dlm_startup, which libdlmmpi and the library that `tasuki mem` preloads
// have each for itself: only one of them reads a command line and files.
#include "cluster/api/entry.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "cluster/api/runtime.h"
#include "cluster/heap/small_heap.h"
#include "cluster/wrappers/pinning.h"
#include "tasuki/dlm.h"

namespace tasuki::cluster {
namespace {

#define TASUKI_EXPORT extern "C" [[gnu::visibility("default")]]

constexpr size_t kAlignment = 64;

pager::Pager* running() {
  return Runtime::instance().pager();
}

// Why there is no pager, once; then as if the cluster had no memory.
void* unavailable(const char* function) {
  static std::atomic<bool> told{false};
  if (!told.exchange(true))
    log(LogLevel::error, "%s: there is no cluster memory %s", function,
        Runtime::instance().started() ? "in a forked child, nor after dlm_shutdown" : "before dlm_startup");
  errno = ENOMEM;
  return nullptr;
}

void* handed_out(const Result<void*>& p, size_t bytes) {
  if (!p.ok()) {
    errno = p.status().err();
    return nullptr;
  }
  note_allocation(p.value(), bytes);
  Runtime::instance().beside().look();
  return p.value();
}

class Regions final : public ChunkSource {
 public:
  void* take(size_t bytes) override {
    pager::Pager* const pager = running();
    return pager != nullptr ? handed_out(pager->allocate(bytes, kAlignment, 0), bytes) : nullptr;
  }
  bool give(void* chunk) override {
    pager::Pager* const pager = running();
    if (pager == nullptr) return false;
    forget_allocation(chunk, pager->size_of(chunk));
    return pager->free(chunk).ok();
  }
  bool discard(void* p, size_t bytes) override {
    pager::Pager* const pager = running();
    return pager != nullptr && pager->discard(p, bytes).ok();
  }
};

// Objects that share pages; others begin with a page of their own. Never destroyed: destructors of static
// objects come late.
constexpr size_t kMostShared = 4095;
constexpr unsigned kArenas = 8;
SmallHeap& heap() {
  static SmallHeap* const heap = new SmallHeap(new Regions, kArenas);
  return *heap;
}

void* allocate_small(size_t bytes, size_t alignment) {
  SmallHeap::Object object;
  {
    const InternalScope internal;  // what the heap takes for itself
    object = heap().take(bytes, alignment);
  }
  if (object.p != nullptr && !object.zero) memset(object.p, 0, bytes);
  return object.p;
}

void* allocate(const char* function, size_t bytes, size_t alignment, size_t page_bytes) {
  pager::Pager* pager = running();
  if (pager == nullptr) return unavailable(function);
  if (bytes == 0) return nullptr;
  if (bytes <= kMostShared && alignment <= kMostShared && page_bytes == 0)
    if (void* const p = allocate_small(bytes, alignment)) return p;
  return handed_out(pager->allocate(bytes, alignment, page_bytes), bytes);
}

[[noreturn]] void foreign(const char* function, const void* p) {
  log(LogLevel::error, "%s: %p is not the beginning of cluster memory that is in use", function, p);
  abort();
}

void* reallocate_small(void* old, size_t bytes) {
  const size_t before = heap().bytes_of(old);
  if (before == 0) foreign("dlm_realloc", old);
  if (SmallHeap::stays(before, bytes)) return old;
  void* const p = allocate("dlm_realloc", bytes, kAlignment, 0);
  if (p == nullptr) return nullptr;
  memcpy(p, old, std::min(before, bytes));
  dlm_free(old);
  return p;
}

int answer(const Status& status) {
  if (status.ok()) return 0;
  errno = status.err();
  return -1;
}

}  // namespace

TASUKI_EXPORT int dlm_shutdown(void) {
  Runtime::instance().stop(false);
  return 0;
}

TASUKI_EXPORT void* dlm_alloc(size_t bytes) {
  return allocate("dlm_alloc", bytes, kAlignment, 0);
}

TASUKI_EXPORT void* dlm_calloc(size_t count, size_t bytes) {
  size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate("dlm_calloc", all, kAlignment, 0);
}

TASUKI_EXPORT void* dlm_aligned_alloc(size_t alignment, size_t bytes) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > size_t{1} << 30) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate("dlm_aligned_alloc", bytes, alignment > kAlignment ? alignment : kAlignment, 0);
}

TASUKI_EXPORT void* dlm_alloc_paged(size_t bytes, size_t page_bytes) {
  return allocate("dlm_alloc_paged", bytes, kAlignment, page_bytes);
}

TASUKI_EXPORT void dlm_free(void* p) {
  pager::Pager* pager = running();
  // Afterwards, and in a child: the memory is gone anyway; destructors of static objects may come late.
  if (p == nullptr || (pager == nullptr && Runtime::instance().started())) return;
  const int saved = errno;
  if (heap().holds(p)) {
    const InternalScope internal;
    if (!heap().give(p)) foreign("dlm_free", p);
    errno = saved;
    return;
  }
  const size_t bytes = pager != nullptr ? pager->size_of(p) : 0;
  if (bytes == 0) foreign("dlm_free", p);
  Runtime::instance().beside().look();
  forget_allocation(p, bytes);
  if (!pager->free(p).ok()) foreign("dlm_free", p);
  errno = saved;
}

TASUKI_EXPORT void* dlm_realloc(void* old, size_t bytes) {
  if (old == nullptr) return allocate("dlm_realloc", bytes, kAlignment, 0);
  if (bytes == 0) {
    dlm_free(old);
    return nullptr;
  }
  pager::Pager* pager = running();
  if (pager == nullptr) return unavailable("dlm_realloc");
  if (heap().holds(old)) return reallocate_small(old, bytes);
  const size_t before = pager->size_of(old);
  const Result<void*> p = pager->reallocate(old, bytes);
  if (!p.ok() && p.status().err() == EINVAL) foreign("dlm_realloc", old);
  if (p.ok()) forget_allocation(old, before);
  return handed_out(p, bytes);
}

TASUKI_EXPORT int dlm_advise(void* p, size_t bytes, enum dlm_advice advice) {
  pager::Pager* pager = running();
  if (pager == nullptr || static_cast<unsigned>(advice) > DLM_KEEP_LOCAL) {
    errno = EINVAL;
    return -1;
  }
  // It is for regions, and such an object shares one with many.
  if ((advice == DLM_SEQUENTIAL || advice == DLM_RANDOM) && heap().holds(p)) return 0;
  return answer(pager->advise(p, bytes, static_cast<pager::Advice>(advice)));
}

TASUKI_EXPORT int dlm_discard(void* p, size_t bytes) {
  pager::Pager* pager = running();
  if (pager != nullptr) return answer(pager->discard(p, bytes));
  errno = EINVAL;
  return -1;
}

TASUKI_EXPORT int dlm_protect(void* p, size_t bytes, int protection) {
  pager::Pager* pager = running();
  if (pager != nullptr) return answer(pager->protect(p, bytes, protection));
  errno = EINVAL;
  return -1;
}

TASUKI_EXPORT int dlm_stats(struct dlm_counters* counters, size_t bytes) {
  static_assert(sizeof(struct dlm_counters) == sizeof(pager::Stats), "the same fields in the same order");
  pager::Pager* pager = running();
  if (pager == nullptr || counters == nullptr) {
    errno = EINVAL;
    return -1;
  }
  const pager::Stats now = Runtime::instance().stats();
  const size_t known = std::min(bytes, sizeof now);
  memcpy(counters, &now, known);
  memset(reinterpret_cast<char*>(counters) + known, 0, bytes - known);
  return 0;
}

TASUKI_EXPORT int tasuki_dlm_needs_wrappers(void) {
  return needs_pin() ? 1 : 0;
}

extern "C" unsigned long tasuki_dlm_beside(void) {
  return running() != nullptr ? Runtime::instance().beside_bytes() : 0;
}

TASUKI_EXPORT void tasuki_dlm_stop(void) {
  Runtime::instance().stop(true);
}

}  // namespace tasuki::cluster
