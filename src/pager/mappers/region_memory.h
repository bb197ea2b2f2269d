// Address space of regions and buffers, and what several mappers do alike with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/status.h"
#include "os/memory/userfault.h"
#include "pager/mappers/mapper.h"
#include "pager/run_set.h"

namespace tasuki::pager {

// Zero-filled private memory, counted by the system only as it is touched, and not locked, whatever the
// program asked for with mlockall(MCL_FUTURE). alignment: a power of two. nullptr: none.
std::byte* map_region(size_t bytes, size_t alignment);

// Before faults in the range are served: small pages only; none for a forked child, which would see pages
// that are away as zeros and gets SIGSEGV this way; none in core files, which would have zeros for them too.
void prepare_region(std::byte* at, size_t bytes);

// Appends free units as buffers, until there are as many or none is left; how many are missing. And back.
uint32_t take_units(RunSet* free, uint32_t units, bool zero, Pieces* pieces);
void give_units(Pieces* pieces, RunSet* free);

// The regions whose faults a userfaultfd catches: what the mappers that have one do alike. The functions are
// those of Mapper.
class UserfaultRegions {
 public:
  explicit UserfaultRegions(os::UserFault faults) : faults_(std::move(faults)) {}
  os::UserFault& faults() { return faults_; }

  // Pages that this process and a child of an earlier fork share become its own, where the program may write:
  // shared ones could not move.
  Status watch(std::byte* at, size_t bytes, const Protections& protections, uint8_t* present);
  void release(std::byte* at, size_t bytes);
  // What is there is nobody's but the program's.
  Status forget(std::byte* at, size_t bytes);
  // A page appears with these bytes. What the program has put there itself stays. Any thread.
  Status copy_in(std::byte* at, const std::byte* from, uint32_t units, bool protect) const;
  Status copy_in(std::byte* at, const Pieces& pieces, bool protect) const;
  bool wake(std::byte* at, uint32_t units);
  bool let_inherit(bool on) const;
  void unlock() const;

 private:
  os::UserFault faults_;
  std::map<std::byte*, size_t> watched_;
};

// What the mappers that have a userfaultfd do alike.
class WatchingMapper : public Mapper {
 public:
  std::byte* reserve(size_t bytes, size_t alignment) override { return map_region(bytes, alignment); }
  Status watch(std::byte* at, size_t bytes, uint8_t* present) override {
    return regions_.watch(at, bytes, protections_, present);
  }
  void release(std::byte* at, size_t bytes, bool watched) override;
  Status forget(std::byte* at, size_t bytes, bool watched) override;
  Status place(std::byte* at, const std::byte* from, uint32_t units, bool writable) const override {
    return regions_.copy_in(at, from, units, !writable);
  }
  void unprotect(std::byte* at, uint32_t units) override { faults_.protect(at, units * unit_size(), false); }
  bool wake(std::byte* at, uint32_t units) override { return regions_.wake(at, units); }
  Status protect(std::byte* at, size_t bytes, int protection) override;
  void refuse(const os::FaultEvent& event) override {
    faults_.wake(address_of(event.address / unit_size()), unit_size());
  }
  bool let_inherit(bool on) override { return regions_.let_inherit(on); }
  bool serves_kernel() const override { return !user_mode_only_; }
  size_t faults(os::FaultEvent* events, size_t max) override { return faults_.read(events, max); }
  int descriptor() const override { return faults_.descriptor(); }

 protected:
  WatchingMapper(os::UserFault faults, bool user_mode_only)
      : regions_(std::move(faults)), user_mode_only_(user_mode_only) {}

  UserfaultRegions regions_;
  os::UserFault& faults_ = regions_.faults();
  const bool user_mode_only_;
};

}  // namespace tasuki::pager
