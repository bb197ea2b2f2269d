#include "pager/own_memory.h"

#include <atomic>
#include <memory_resource>
#include <new>

#include "os/memory/mapping.h"
#include "os/process/cpu.h"

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
  std::atomic<bool> busy{false};
  Mapped system;
  std::pmr::unsynchronized_pool_resource blocks{&system};
};
Pool& pool() {
  alignas(Pool) static std::byte room[sizeof(Pool)];
  static Pool* const made = new (room) Pool;
  return *made;
}

// Not a mutex: short, and it must not allocate either.
class Busy {
 public:
  explicit Busy(Pool* p) : pool_(p) {
    while (pool_->busy.exchange(true, std::memory_order_acquire)) os::cpu_yield();
  }
  ~Busy() { pool_->busy.store(false, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Pool* pool_;
};

}  // namespace

void* take_own_memory(size_t bytes) {
  Pool& p = pool();
  const Busy busy(&p);
  return p.blocks.allocate(bytes);
}

void give_own_memory(void* p, size_t bytes) {
  Pool& own = pool();
  const Busy busy(&own);
  own.blocks.deallocate(p, bytes);
}

}  // namespace tasuki::pager
