#include "stores.h"

#include <cstring>

#include "os/memory/mapping.h"
#include "pager/own_memory.h"
#include "pager/stores/compressed_cache.h"
#include "pager/stores/ram_store.h"
#include "pager/test/fake_memory.h"
#include "world.h"

namespace tasuki::stress {
namespace {

// As the memory of a server on the same host: forked children see what their parent puts there later. What is
// released is overwritten.
class SharedStore final : public pager::Store {
 public:
  explicit SharedStore(uint64_t slots)
      : slots_(slots), memory_(static_cast<std::byte*>(os::map_shared(slots * kPage))) {
    if (memory_ == nullptr) wrong("no memory");
  }
  ~SharedStore() override { os::unmap(memory_, slots_ * kPage); }

  size_t unit_bytes() const override { return kPage; }
  uint64_t slots() const override { return slots_; }
  uint64_t run_limit(pager::Slot slot) const override { return slots_ - slot; }
  Status get(pager::Slot slot, uint32_t units, std::byte* to, pager::Ticket ticket) override {
    pending_.push_back({to, at(slot), units * kPage, ticket});
    return {};
  }
  Status put(pager::Slot slot, uint32_t units, const std::byte* from, pager::Ticket ticket) override {
    pending_.push_back({at(slot), from, units * kPage, ticket});
    return {};
  }
  const std::byte* read_in_place(pager::Slot slot, uint32_t) override { return at(slot); }
  bool read_aside(pager::Slot slot, uint32_t units, std::byte* to) const override {
    memcpy(to, at(slot), units * kPage);
    return true;
  }
  bool can_read_aside() const override { return true; }
  Status release(pager::Slot slot, uint32_t units) override {
    memset(at(slot), 0xee, units * kPage);
    return {};
  }
  Status progress(pager::Tickets* completed) override {
    for (const Transfer& t : pending_) {
      memcpy(t.to, t.from, t.bytes);
      completed->push_back(t.ticket);
    }
    pending_.clear();
    return {};
  }
  bool busy() const override { return !pending_.empty(); }
  bool direct() const override { return true; }

 private:
  struct Transfer {
    std::byte* to;
    const std::byte* from;
    size_t bytes;
    pager::Ticket ticket;
  };
  std::byte* at(pager::Slot slot) const { return memory_ + slot * kPage; }

  const uint64_t slots_;
  std::byte* memory_;
  pager::OwnVector<Transfer> pending_;
};

}  // namespace

Stores make_stores(uint64_t number, uint64_t slots, uint64_t seed) {
  Stores made;
  switch (number % 4) {
    case 0:
      made.name = "own memory";
      made.store = std::move(pager::RamStore::create(kPage, slots).value());
      return made;
    case 1:
      made.name = "shared memory";
      made.store = std::make_unique<SharedStore>(slots);
      return made;
    case 2:
      made.name = "compressed cache";
      made.below = std::make_unique<SharedStore>(slots);
      made.store = std::move(
          pager::CompressedCache::create(made.below.get(), slots * kPage / (4 + seed % 16)).value());
      return made;
    default:
      made.name = "messages";
      made.store = std::make_unique<pager::SlowStore>(
          slots, pager::SlowStore::Behaviour{.run = 1000, .patience = static_cast<uint32_t>(1 + seed % 4)},
          seed);
      return made;
  }
}

}  // namespace tasuki::stress
