#include "pager/own_memory.h"

#include <memory_resource>
#include <mutex>
#include <new>

#include "os/memory/mapping.h"
#include "os/process/spin_lock.h"

namespace tasuki::pager {
namespace {

class Mapped final : public std::pmr::memory_resource {
  void* do_allocate(size_t bytes, size_t) override {
    void* p = os::map_memory(os::page_ceil(bytes));
    if (p == nullptr) throw std::bad_alloc();
    return p;
  }
  void do_deallocate(void* p, size_t bytes, size_t) override { os::unmap(p, os::page_ceil(bytes)); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

// Never destroyed: what a program still frees when it ends may come later than any destructor.
struct Pool {
  os::SpinLock lock;
  Mapped system;
  std::pmr::unsynchronized_pool_resource blocks{&system};
};
Pool& pool() {
  alignas(Pool) static std::byte room[sizeof(Pool)];
  static Pool* const made = new (room) Pool;
  return *made;
}

}  // namespace

void* take_own_memory(size_t bytes) {
  Pool& p = pool();
  const std::lock_guard alone(p.lock);
  return p.blocks.allocate(bytes);
}

void give_own_memory(void* p, size_t bytes) {
  Pool& own = pool();
  const std::lock_guard alone(own.lock);
  own.blocks.deallocate(p, bytes);
}

}  // namespace tasuki::pager
