// Several stores as one: the slots of the first, then those of the next. The pager uses the slots of the
// first one as long as it has any (Store::part_end).
#pragma once

#include <string>
#include <vector>

#include "pager/stores/store.h"

namespace tasuki::pager {

class TieredStore final : public Store {
 public:
  // One at least, all with units of the same size; only the last may have slots that are not reserved. They
  // outlive it.
  explicit TieredStore(std::vector<Store*> tiers);

  size_t unit_bytes() const override { return tiers_.front().store->unit_bytes(); }
  uint64_t slots() const override { return tiers_.back().end; }
  uint64_t reserved() const override { return last().first + last().store->reserved(); }
  Status reserve(uint64_t slots) override;
  uint64_t part_end(Slot slot) const override;
  uint64_t run_limit(Slot slot) const override;
  Status get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) override;
  Status put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) override;
  bool read_aside(Slot slot, uint32_t units, std::byte* to) const override;
  bool can_read_aside() const override;
  void freeze(bool frozen) override;
  Status release(Slot slot, uint32_t units) override;
  Status progress(Tickets* completed) override;
  bool busy() const override;
  bool settled() const override;
  int descriptor() const override;
  int longest_rest_ms() const override;
  std::string describe(Slot slot) const override;

 private:
  struct Tier {
    Store* store;
    Slot first, end;
  };
  const Tier& of(Slot slot) const;
  const Tier& last() const { return tiers_.back(); }

  std::vector<Tier> tiers_;
};

}  // namespace tasuki::pager
