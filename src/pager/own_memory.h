// Memory for what the pager knows about pages, straight from the system. A thread that serves its own fault
// may have been interrupted in malloc, by a handler that then touched a page which was away: to allocate
// there would be to wait for itself. Everything that changes while a fault is served is in such containers;
// test/pager_test.cpp counts the allocations that are not.
//
// Thread-safe where signals are blocked, or as long as no handler that interrupts the call comes here too.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace tasuki::pager {

// Aligned for every type. std::bad_alloc: the system has none.
void* take_own_memory(size_t bytes);
void give_own_memory(void* p, size_t bytes);

template <class T>
struct OwnMemory {
  using value_type = T;
  using is_always_equal = std::true_type;
  OwnMemory() = default;
  template <class U>
  OwnMemory(const OwnMemory<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(take_own_memory(n * sizeof(T))); }
  void deallocate(T* p, size_t n) { give_own_memory(p, n * sizeof(T)); }
  template <class U>
  bool operator==(const OwnMemory<U>&) const {
    return true;
  }
};

template <class T>
using OwnVector = std::vector<T, OwnMemory<T>>;
template <class T>
using OwnDeque = std::deque<T, OwnMemory<T>>;
template <class K, class T>
using OwnMap = std::map<K, T, std::less<K>, OwnMemory<std::pair<const K, T>>>;
template <class K, class T>
using OwnHashMap = std::unordered_map<K, T, std::hash<K>, std::equal_to<K>, OwnMemory<std::pair<const K, T>>>;

}  // namespace tasuki::pager
