/** @file
 * C++ on top of dlm.h: cluster memory for containers.
 *
 *     std::vector<double, tasuki::dlm::allocator<double>> x(n);     // all of it in cluster memory
 *     tasuki::dlm::memory_resource cluster;                         // large blocks only
 *     std::pmr::vector<std::pmr::string> lines(&cluster);
 *
 * Any thread may use them between dlm_startup() and dlm_shutdown(). The memory of containers that are
 * destroyed later (static ones) is gone by then, and giving it back does nothing.
 */
#ifndef TASUKI_DLM_HPP
#define TASUKI_DLM_HPP

#include "dlm.h"

#include <cstddef>
#include <limits>
#include <memory_resource>
#include <new>
#include <type_traits>

/** Cluster memory for containers. */
namespace tasuki::dlm {

/** A standard allocator. Every allocation goes to the cluster, however small, and takes whole pages of 4096
 * bytes. Use it for containers with few, large allocations (vector, a table of buckets), not for containers
 * of nodes. Elements that the container only default-initialises are zero. Throws std::bad_alloc if the
 * cluster has no room. */
template <typename T>
class allocator {
 public:
  /** @cond what the standard requires of an allocator */
  using value_type = T;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using propagate_on_container_move_assignment = std::true_type;
  using is_always_equal = std::true_type;

  constexpr allocator() noexcept = default;
  template <typename U>
  constexpr allocator(const allocator<U>&) noexcept {}

  /** @endcond */

  /** Allocates `count` elements.
   * @return their address; throws std::bad_alloc if the cluster has no room */
  [[nodiscard]] T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / 2 / sizeof(T)) throw std::bad_array_new_length();
    // dlm_alloc gives NULL for 0 bytes; an allocator gives an address that can be deallocated.
    const std::size_t bytes = count == 0 ? 1 : count * sizeof(T);
    constexpr std::size_t usual = 64;
    void* p = alignof(T) <= usual ? dlm_alloc(bytes) : dlm_aligned_alloc(alignof(T), bytes);
    if (p == nullptr) throw std::bad_alloc();
    return static_cast<T*>(p);
  }
  /** Gives back what allocate() has returned. */
  void deallocate(T* p, std::size_t) noexcept { dlm_free(p); }

  /** @cond */
  friend constexpr bool operator==(const allocator&, const allocator&) noexcept { return true; }
  /** @endcond */
};

/** A std::pmr::memory_resource: blocks of `threshold` bytes and more are in cluster memory, smaller ones come
 * from `upstream`, which must outlive this object. Two resources are equal if threshold and upstream are. */
class memory_resource : public std::pmr::memory_resource {
 public:
  /** @param threshold bytes from which a block goes to cluster memory
   * @param upstream where smaller blocks come from */
  explicit memory_resource(std::size_t threshold = std::size_t{1} << 20,
                           std::pmr::memory_resource* upstream = std::pmr::get_default_resource()) noexcept
      : threshold_(threshold), upstream_(upstream) {}

  /** @return bytes from which a block goes to cluster memory */
  std::size_t threshold() const noexcept { return threshold_; }
  /** @return where smaller blocks come from */
  std::pmr::memory_resource* upstream() const noexcept { return upstream_; }

 protected:
  /** @cond what the standard requires of a memory resource */
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
  /** @endcond */

 private:
  std::size_t threshold_;
  std::pmr::memory_resource* upstream_;
};

}  // namespace tasuki::dlm

#endif
