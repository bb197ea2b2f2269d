// What is allocated: address -> region -> unit -> the unit's page and slot. Regions owns the regions and
// their names, the addresses by which the program knows them. Any thread may ask for names (size_of,
// touches); everything else is the pager's thread's, which changes names under their mutex.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "pager/mappers/mapper.h"
#include "pager/pages/page_state.h"
#include "pager/pages/streams.h"

namespace tasuki::pager {

// One allocation. Its parts belong to the classes that are friends here, each to one.
class Region {
 public:
  Region(uint32_t id, std::byte* at, size_t bytes, uint64_t units, uint32_t fixed_page)
      : id_(id), at_(at), units_(units), bytes_(bytes) {
    locality_.fixed = fixed_page;
    locality_.units = units;
  }

  uint32_t id() const { return id_; }
  std::byte* at() const { return at_; }
  uint64_t units() const { return units_; }
  std::byte* end() const { return address(units_); }
  std::byte* address(uint64_t unit) const { return at_ + unit * unit_size(); }
  uint64_t unit_of(const void* address) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(address) - at_) / unit_size();
  }
  // The units of every page, as the program asked; 0: the pager chooses.
  uint32_t fixed_page() const { return locality_.fixed; }
  bool watched() const { return watched_; }  // false: plain memory, because everything fits
  // Of a watched region: the page that the unit belongs to, or kNoPage; and whether the store has the unit.
  PageId page(uint64_t unit) const { return page_[unit]; }
  bool stored(uint64_t unit) const { return slot_[unit] != 0; }

  Locality* locality() { return &locality_; }

 private:
  const uint32_t id_;
  std::byte* const at_;
  const uint64_t units_;
  Locality locality_;

  friend class Regions;
  size_t bytes_;  // as asked for
  bool watched_ = false;

  friend class Pages;
  std::vector<PageId> page_;

  friend class Slots;
  std::vector<uint32_t> slot_;  // slot + 1, or 0: never written
};

class Regions {
 public:
  explicit Regions(Mapper* mapper) : mapper_(mapper) {}
  ~Regions();  // gives the memory of all regions back
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  // Memory for a region that nobody watches and that has no name yet. Errors: ENOMEM.
  Result<std::unique_ptr<Region>> reserve(size_t bytes, size_t alignment, uint32_t fixed_page);
  // From now on accesses to absent units are faults; *present says which units are there.
  Status watch(Region* region, std::vector<uint8_t>* present);
  // Gives the memory of a region without a name back.
  void release(const Region& region);

  // From now on the region counts, and can be found.
  Region* add(std::unique_ptr<Region> region);
  // The region that begins at p cannot be found by its address any more, but counts until forget(). nullptr:
  // none does.
  std::unique_ptr<Region> take_name(void* p);
  void forget(const Region& region);
  // The region's memory stays, as ordinary memory. A thread that has faulted there before may come for it
  // yet, for a moment: may this be one?
  void leave(const Region& region, double now);
  bool left_lately(const void* address, double now) const;

  // nullptr: there is none.
  Region* at(const void* begin) const;
  Region* with_id(uint32_t id) const;
  Region* of(const void* address) const;
  // The region of an address. *end becomes where that region ends or, without one, where the next begins, if
  // that is sooner.
  Region* of(const std::byte* address, const std::byte** end) const;
  std::vector<Region*> all() const;
  uint64_t units() const { return units_; }

  void resize(Region* region, size_t bytes);  // within its units

  // Around a fork, so that nobody is asking for names.
  void lock_names() { names_mutex_.lock(); }
  void unlock_names() { names_mutex_.unlock(); }

  // Any thread, also in a handler of a signal.
  size_t size_of(const void* p) const;
  bool touches(const void* p, size_t bytes) const;

 private:
  using Names = std::map<uintptr_t, std::unique_ptr<Region>>;

  Mapper* mapper_;
  Names regions_;  // by address; changed under names_mutex_
  std::unordered_map<uint32_t, Region*> by_id_;
  mutable Region* last_ = nullptr;  // found by of()
  uint32_t next_id_ = 1;
  uint64_t units_ = 0;
  struct Left {
    uintptr_t begin = 0, end = 0;
    double since = 0;
  };
  std::array<Left, 8> left_;  // the last ones
  size_t left_next_ = 0;
  std::atomic<uintptr_t> lowest_{UINTPTR_MAX}, highest_{0};
  mutable std::mutex names_mutex_;
};

}  // namespace tasuki::pager
