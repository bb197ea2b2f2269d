// A store in this process's own memory: for tests, and where swapping against memory is wanted.
#pragma once

#include <memory>

#include "pager/stores/left_copies.h"

namespace tasuki::pager {

class RamStore final : public Store {
 public:
  // ENOMEM: not even the addresses are there. Memory is taken as slots are put.
  static Result<std::unique_ptr<RamStore>> create(size_t unit_bytes, uint64_t slots);
  ~RamStore() override;
  RamStore(const RamStore&) = delete;
  RamStore& operator=(const RamStore&) = delete;

  size_t unit_bytes() const override { return unit_; }
  uint64_t slots() const override { return slots_; }
  uint64_t run_limit(Slot slot) const override { return slots_ - slot; }
  Status get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) override;
  Status put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) override;
  Status get_later(Slot slot, uint32_t units, std::byte* to, Ticket ticket) override {
    left_.add({slot, units, to, nullptr, ticket});
    return {};
  }
  Status put_later(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) override {
    left_.add({slot, units, nullptr, from, ticket});
    return {};
  }
  const std::byte* read_in_place(Slot slot, uint32_t) override { return at(slot); }
  bool read_aside(Slot slot, uint32_t units, std::byte* to) const override;
  bool can_read_aside() const override { return true; }
  Status copy_left() override;
  Status release(Slot slot, uint32_t units) override;
  Status progress(Tickets* completed) override;
  bool busy() const override { return !pending_.empty() || left_.busy(); }
  bool direct() const override { return true; }

 private:
  // A transfer moves its bytes in progress(), not at once: a caller that uses its memory too early is found
  // in tests, as a network would find it.
  struct Transfer {
    std::byte* to;
    const std::byte* from;
    size_t bytes;
    Ticket ticket;
  };
  RamStore(size_t unit_bytes, uint64_t slots, std::byte* memory)
      : unit_(unit_bytes), slots_(slots), memory_(memory) {}
  std::byte* at(Slot slot) const { return memory_ + slot * unit_; }

  size_t unit_;
  uint64_t slots_;
  std::byte* memory_;
  OwnVector<Transfer> pending_;
  LeftCopies left_;
};

}  // namespace tasuki::pager
