#include "cluster/preload/internal_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <memory_resource>
#include <mutex>
#include <new>

#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"
#include "os/process/spin_lock.h"
#include "pager/run_set.h"

namespace tasuki::cluster::preload {
namespace {

// Of addresses, less where they are limited; as much as is used of it takes memory.
constexpr size_t kMost = size_t{64} << 30, kLeast = size_t{256} << 20;

class Range final : public std::pmr::memory_resource {
 public:
  Range() {
    for (bytes_ = kMost; bytes_ >= kLeast && begin_ == nullptr; bytes_ /= 4)
      begin_ = static_cast<std::byte*>(os::reserve(bytes_));
    bytes_ = begin_ != nullptr ? bytes_ * 4 : 0;
  }
  bool holds(const void* p) const { return p >= begin_ && p < begin_ + bytes_; }

 private:
  void* do_allocate(size_t bytes, size_t) override {
    const size_t pages = os::page_ceil(bytes) / os::page_size();
    uint64_t first = 0;
    const uint64_t got = free_.take(pages, &first);
    if (got == pages) return begin_ + first * os::page_size();
    free_.add(first, got);
    if (pages > bytes_ / os::page_size() - used_) throw std::bad_alloc();
    std::byte* const at = begin_ + used_ * os::page_size();
    if (!os::protect(at, pages * os::page_size(), PROT_READ | PROT_WRITE)) throw std::bad_alloc();
    used_ += pages;
    return at;
  }
  void do_deallocate(void* p, size_t bytes, size_t) override {
    const size_t pages = os::page_ceil(bytes) / os::page_size();
    os::discard(p, pages * os::page_size());
    free_.add(static_cast<uint64_t>(static_cast<std::byte*>(p) - begin_) / os::page_size(), pages);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::byte* begin_ = nullptr;
  size_t bytes_ = 0;
  pager::RunSet free_;  // pages that were used before
  size_t used_ = 0;     // pages from the beginning on
};

struct Heap {
  os::SpinLock lock;
  Range range;
  std::pmr::unsynchronized_pool_resource pool{&range};
};

// Never destroyed: it is used until the process ends. nullptr: nobody needed it yet.
std::atomic<Heap*> g_heap{nullptr};
Heap& heap() {
  alignas(Heap) static std::byte room[sizeof(Heap)];
  static Heap* const made = new (room) Heap;
  g_heap.store(made);
  return *made;
}

// The thread that forks has it, and goes on to allocate before and after.
constinit thread_local bool t_forks __attribute__((tls_model("initial-exec"))) = false;

std::unique_lock<os::SpinLock> alone() {
  return t_forks ? std::unique_lock<os::SpinLock>() : std::unique_lock(heap().lock);
}

struct alignas(16) Header {  // right before what the caller gets
  void* begin;
  size_t all;
  size_t bytes;
};

Header* header_of(const void* p) {
  return static_cast<Header*>(const_cast<void*>(p)) - 1;
}

}  // namespace

void lock_internal() {
  Heap* const made = g_heap.load();
  if (made != nullptr) made->lock.lock();
  t_forks = made != nullptr;
}

void unlock_internal() {
  if (t_forks) heap().lock.unlock();
  t_forks = false;
}

void* take_internal(size_t bytes, size_t alignment) {
  size_t all;
  if (alignment < alignof(Header)) alignment = alignof(Header);
  if (__builtin_add_overflow(bytes, sizeof(Header) + alignment, &all) || all > kMost) {
    errno = ENOMEM;
    return nullptr;
  }
  void* begin = nullptr;
  try {
    const auto lock = alone();
    begin = heap().pool.allocate(all, alignof(Header));
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  }
  const uintptr_t least = reinterpret_cast<uintptr_t>(begin) + sizeof(Header);
  void* const p = reinterpret_cast<void*>((least + alignment - 1) & ~(alignment - 1));
  *header_of(p) = {begin, all, bytes};
  return p;
}

bool is_internal(const void* p) {
  const Heap* const made = g_heap.load(std::memory_order_acquire);
  return made != nullptr && made->range.holds(p);
}

void give_internal(void* p) {
  const Header header = *header_of(p);
  const auto lock = alone();
  heap().pool.deallocate(header.begin, header.all, alignof(Header));
}

size_t internal_bytes(const void* p) {
  return header_of(p)->bytes;
}

}  // namespace tasuki::cluster::preload
