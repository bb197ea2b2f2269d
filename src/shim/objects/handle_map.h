// Maps an MPI handle (a pointer in Open MPI, an int in the MPICH family) to what Tasuki knows of it. Private
// to one task. Open addressing; a lookup is a multiplication and, nearly always, one comparison.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "message/shared/shared.h"

namespace tasuki::shim {

using namespace message;  // the shim speaks of requests, endpoints and contexts as the message layer does

template <typename Handle>
uintptr_t key_of(Handle h) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<uintptr_t>(h);
  else
    return static_cast<uint32_t>(h);
}

template <typename Handle>
Handle handle_of(uintptr_t key) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(key);
  else
    return static_cast<Handle>(static_cast<uint32_t>(key));
}

template <typename Value>
class HandleMap {
 public:
  HandleMap() = default;
  HandleMap(const HandleMap&) = delete;
  HandleMap& operator=(const HandleMap&) = delete;

  void set_threads(bool threads) { threads_ = threads; }

  Value* find(uintptr_t key) {
    const LockIf guard(threads_, lock_);
    if (capacity_ == 0) return nullptr;
    for (size_t i = place(key);; i = (i + 1) & (capacity_ - 1)) {
      if (entries_[i].key == key) return entries_[i].value;
      if (entries_[i].key == 0) return nullptr;
    }
  }

  // Returns false when memory is exhausted. Key 0 is not allowed; an existing key is replaced.
  bool insert(uintptr_t key, Value* value) {
    const LockIf guard(threads_, lock_);
    if ((count_ + 1) * 2 > capacity_ && !grow()) return false;
    put(key, value);
    return true;
  }

  // The value of the key: the one that is there, else `value`, put in now. nullptr when memory is exhausted.
  Value* find_or_insert(uintptr_t key, Value* value) {
    const LockIf guard(threads_, lock_);
    if ((count_ + 1) * 2 > capacity_ && !grow()) return nullptr;
    size_t i = place(key);
    while (entries_[i].key != 0 && entries_[i].key != key) i = (i + 1) & (capacity_ - 1);
    if (entries_[i].key == key) return entries_[i].value;
    entries_[i] = {key, value};
    count_++;
    return value;
  }

  // Takes the entry out and returns its value, nullptr if there was none.
  Value* erase(uintptr_t key) {
    const LockIf guard(threads_, lock_);
    if (capacity_ == 0) return nullptr;
    size_t hole = place(key);
    while (entries_[hole].key != key) {
      if (entries_[hole].key == 0) return nullptr;
      hole = (hole + 1) & (capacity_ - 1);
    }
    Value* value = entries_[hole].value;
    // Close the gap: move back every entry whose own place does not lie behind the hole.
    for (size_t i = (hole + 1) & (capacity_ - 1); entries_[i].key != 0; i = (i + 1) & (capacity_ - 1)) {
      const size_t home = place(entries_[i].key);
      if (((i - home) & (capacity_ - 1)) < ((i - hole) & (capacity_ - 1))) continue;
      entries_[hole] = entries_[i];
      hole = i;
    }
    entries_[hole] = {0, nullptr};
    count_--;
    return value;
  }

  template <typename Visit>
  void for_each(Visit visit) {
    for (size_t i = 0; i < capacity_; i++)
      if (entries_[i].key != 0) visit(entries_[i].key, entries_[i].value);
  }

 private:
  struct Entry {
    uintptr_t key;
    Value* value;
  };

  size_t place(uintptr_t key) const { return (key * 0x9e3779b97f4a7c15u) >> shift_; }

  void put(uintptr_t key, Value* value) {
    size_t i = place(key);
    while (entries_[i].key != 0 && entries_[i].key != key) i = (i + 1) & (capacity_ - 1);
    if (entries_[i].key == 0) count_++;
    entries_[i] = {key, value};
  }

  bool grow() {
    const size_t old_capacity = capacity_;
    Entry* old = entries_;
    const size_t capacity = capacity_ == 0 ? 64 : capacity_ * 2;
    Entry* fresh = static_cast<Entry*>(calloc(capacity, sizeof(Entry)));
    if (fresh == nullptr) return false;
    entries_ = fresh;
    capacity_ = capacity;
    shift_ = 64 - __builtin_ctzll(capacity);
    count_ = 0;
    for (size_t i = 0; i < old_capacity; i++)
      if (old[i].key != 0) put(old[i].key, old[i].value);
    free(old);
    return true;
  }

  Entry* entries_ = nullptr;
  size_t capacity_ = 0, count_ = 0;
  int shift_ = 64;
  bool threads_ = false;
  SpinLock lock_;
};

}  // namespace tasuki::shim
