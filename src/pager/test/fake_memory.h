// Memory without a kernel, for the engine's tests: a mapper whose faults are condition variables and a store
// that takes its time. Both check what the engine may do with them, and end the test program when it does
// something else: a test cannot go on after that.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "os/files/descriptor.h"
#include "pager/mappers/mapper.h"
#include "pager/stores/store.h"

namespace tasuki::pager {

// Like the real mappers: pages that leave are absent and mappings always writable (move), can still be read
// (copy), are absent and mappings may be read-only (protect), or that only of small pages, which can be
// dropped together (drop).
enum class Style { move, copy, protect, drop };

class FakeMapper final : public Mapper {
 public:
  FakeMapper(Style style, uint64_t local_units, uint64_t seed, bool late = true);
  ~FakeMapper() override;

  // The program: runs `access` with the bytes at `at` as an instruction would, after faults if need be.
  // False: the protection forbids it. Thread-safe.
  bool access(std::byte* at, bool write, int thread, const std::function<void(std::byte*)>& access);
  // The kernel, where it must not fault: true if every unit of the range is there now.
  bool accessible(const std::byte* at, size_t bytes, bool write);
  // The kernel writes there, if it can.
  void write_if_there(std::byte* at, uint64_t value);
  // Units of local memory in use: mapped ones and buffers.
  uint64_t held();
  // From now on, or no more: somebody outside uses the units' memory, so that they cannot leave.
  void occupy(std::byte* at, uint64_t units, bool on);
  // The call of watch() that fails, counted from 1.
  void fail_watch(int call) { fail_watch_ = call; }
  // Threads that wait in a fault.
  size_t waiting();

  std::byte* reserve(size_t bytes, size_t alignment) override;
  Status watch(std::byte* at, size_t bytes, uint8_t* present) override;
  void release(std::byte* at, size_t bytes, bool watched) override;
  bool take(uint32_t units, uint64_t in_use, Pieces* pieces) override;
  void give(Pieces* pieces) override;
  Status map(std::byte* at, Pieces* pieces, bool writable) override;
  Status unmap(std::byte* at, uint32_t units, Pieces* pieces, bool* discarded) override;
  Status remap(std::byte* at, Pieces* pieces, bool writable) override;
  void discard(std::byte* at, uint32_t units, Pieces* pieces) override;
  void unprotect(std::byte* at, uint32_t units) override;
  bool wake(std::byte* at, uint32_t units) override;
  Status protect(std::byte* at, size_t bytes, int protection) override;
  Status forget(std::byte*, size_t, bool) override { return Status::error(ENOTSUP, "not here"); }
  void refuse(const os::FaultEvent& event) override { wake(address_of(event.address / unit_size()), 1); }
  bool maps_protected(uint32_t units) const override {
    return style_ == Style::drop ? units <= 2 : style_ != Style::move;
  }
  Status drop(Dropped* pages, size_t count) override;
  uint32_t most_dropped() const override { return style_ == Style::drop ? 8 : 0; }
  uint64_t dropped();  // units
  bool watches_late() const override { return late_; }
  uint64_t page_limit() const override { return page_limit_; }
  bool serves_kernel() const override { return false; }
  const char* name() const override { return "a fake"; }
  size_t faults(os::FaultEvent* events, size_t max) override;
  int descriptor() const override { return event_.get(); }

  void limit_pages(uint64_t pages) { page_limit_ = pages; }

 private:
  enum Right : uint8_t { kNothing, kRead, kWrite };
  struct Area {
    size_t bytes = 0;
    bool watched = false;
    std::vector<Right> rights;  // of each unit, if watched
  };
  struct Waiter {
    uintptr_t unit;
    bool woken = false;
  };
  [[noreturn]] void violated(const std::string& what);
  Area* area_of(const std::byte* at, uint64_t* unit);
  Right& right(const std::byte* at);
  void wake_range(const std::byte* at, uint32_t units);
  void take_locked(uint32_t units, Pieces* pieces);
  void give_locked(Pieces* pieces);
  void signal();

  Style style_;
  uint64_t local_;
  bool late_;
  uint64_t page_limit_ = UINT64_MAX;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::mt19937_64 random_;
  std::map<const std::byte*, Area> areas_;
  std::map<std::byte*, uint32_t> buffers_;  // taken, not given back
  std::vector<os::FaultEvent> events_;
  std::set<Waiter*> waiters_;
  std::set<uintptr_t> occupied_;  // units
  uint64_t most_occupied_ = 0;
  int watches_ = 0, fail_watch_ = 0;
  uint64_t mapped_ = 0, taken_ = 0, dropped_ = 0;
  os::Fd event_;
};

class SlowStore final : public Store {
 public:
  struct Behaviour {
    uint64_t run = 0;       // slots of a server; 0: all
    uint32_t patience = 4;  // a transfer completes in one of about so many calls of progress(), in any order
    bool direct = false;
    int64_t fail_at =
        -1;  // the call that fails, of those that move bytes or ask for progress with some under way
  };
  SlowStore(uint64_t slots, const Behaviour& behaviour, uint64_t seed)
      : slots_(slots), behaviour_(behaviour), random_(seed) {}

  size_t unit_bytes() const override { return unit_size(); }
  uint64_t slots() const override { return slots_; }
  uint64_t run_limit(Slot slot) const override {
    return behaviour_.run == 0 ? slots_ - slot
                               : std::min(slots_ - slot, behaviour_.run - slot % behaviour_.run);
  }
  Status get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) override;
  Status put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) override;
  Status release(Slot slot, uint32_t units) override;
  Status progress(Tickets* completed) override;
  bool busy() const override { return !transfers_.empty(); }
  bool direct() const override { return behaviour_.direct; }

  uint64_t used() const { return contents_.size(); }  // slots with contents
  uint64_t calls() const { return calls_; }
  const std::set<int>& fetchers() const { return fetchers_; }  // threads that called get()

 private:
  struct Transfer {
    Slot slot;
    uint32_t units;
    std::byte* to;
    const std::byte* from;
    Ticket ticket;
  };
  Status start(const Transfer& transfer);
  Status count();

  uint64_t slots_;
  Behaviour behaviour_;
  std::mt19937_64 random_;
  std::vector<Transfer> transfers_;
  std::set<Slot> moving_;
  std::set<int> fetchers_;
  std::unordered_map<Slot, std::vector<std::byte>> contents_;
  std::atomic<uint64_t> calls_ = 0;
};

}  // namespace tasuki::pager
