// C++ on top of dlm.h: cluster memory for containers.
//
//     std::vector<double, tasuki::dlm::allocator<double>> x(n);                   // all of it in cluster memory
//     tasuki::dlm::memory_resource cluster;                                       // large blocks only
//     std::pmr::vector<std::pmr::string> lines(&cluster);
//
// Between dlm_startup and dlm_shutdown, by any thread. Memory of containers that are destroyed later (static ones)
// is gone by then, and giving it back does nothing.
#ifndef TASUKI_DLM_HPP
#define TASUKI_DLM_HPP

#include "dlm.h"

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <new>
#include <type_traits>

namespace tasuki::dlm {

// A standard allocator. Every allocation goes to the cluster, however small, and takes whole pages of 4096 bytes:
// for containers with few, large allocations (vector, deque with large blocks, a table of buckets), not for nodes.
// Elements that the container only default-initialises are zero. Throws std::bad_alloc when the cluster has no room.
template <typename T>
class allocator {
 public:
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;

  constexpr allocator() noexcept = default;
  template <typename U>
  constexpr allocator(const allocator<U>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) throw std::bad_array_new_length();
    // dlm_alloc gives NULL for 0 bytes; an allocator gives an address that can be deallocated.
    const std::size_t bytes = count == 0 ? 1 : count * sizeof(T);
    constexpr std::size_t usual = 64;
    void* p = alignof(T) <= usual ? dlm_alloc(bytes) : dlm_aligned_alloc(alignof(T), bytes);
    if (p == nullptr) throw std::bad_alloc();
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t) noexcept { dlm_free(p); }

  friend constexpr bool operator==(const allocator&, const allocator&) noexcept { return true; }
};

// A std::pmr::memory_resource: blocks of `threshold` bytes and more are in cluster memory, smaller ones come from
// `upstream`, which must outlive this object. Two resources are equal when threshold and upstream are.
class memory_resource : public std::pmr::memory_resource {
 public:
  explicit memory_resource(std::size_t threshold = std::size_t{1} << 20,
                           std::pmr::memory_resource* upstream = std::pmr::get_default_resource()) noexcept
      : threshold_(threshold), upstream_(upstream) {}

  std::size_t threshold() const noexcept { return threshold_; }
  std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

 protected:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < threshold_) return upstream_->allocate(bytes, alignment);
    void* p = dlm_aligned_alloc(alignment, bytes == 0 ? 1 : bytes);
    if (p == nullptr) throw std::bad_alloc();
    return p;
  }
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
    if (bytes < threshold_)
      upstream_->deallocate(p, bytes, alignment);
    else
      dlm_free(p);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    const auto* same = dynamic_cast<const memory_resource*>(&other);
    return same != nullptr && same->threshold_ == threshold_ && *same->upstream_ == *upstream_;
  }

 private:
  std::size_t threshold_;
  std::pmr::memory_resource* upstream_;
};

}  // namespace tasuki::dlm

#endif
