#include "pager/stores/ram_store.h"

#include <cstring>

#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"

namespace tasuki::pager {

Result<std::unique_ptr<RamStore>> RamStore::create(size_t unit_bytes, uint64_t slots) {
  void* memory = nullptr;
  if (slots > 0) {
    memory = slots <= SIZE_MAX / unit_bytes ? os::map_memory(slots * unit_bytes) : nullptr;
    if (memory == nullptr)
      return Status::error(ENOMEM, "no address space for " + std::to_string(slots) + " pages of " +
                                       std::to_string(unit_bytes) + " bytes");
  }
  return std::unique_ptr<RamStore>(new RamStore(unit_bytes, slots, static_cast<std::byte*>(memory)));
}

RamStore::~RamStore() {
  if (memory_ != nullptr) os::unmap(memory_, slots_ * unit_);
}

Status RamStore::get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) {
  pending_.push_back({to, at(slot), units * unit_, ticket});
  return {};
}

Status RamStore::put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) {
  pending_.push_back({at(slot), from, units * unit_, ticket});
  return {};
}

bool RamStore::read_aside(Slot slot, uint32_t units, std::byte* to) const {
  memcpy(to, at(slot), units * unit_);
  return true;
}

Status RamStore::copy_left() {
  return left_.copy([this](const LeftCopies::Copy& copy) {
    if (copy.to != nullptr)
      memcpy(copy.to, at(copy.slot), copy.units * unit_);
    else
      memcpy(at(copy.slot), copy.from, copy.units * unit_);
    return Status();
  });
}

Status RamStore::release(Slot slot, uint32_t units) {
  os::discard(at(slot), units * unit_);
  return {};
}

Status RamStore::progress(Tickets* completed) {
  for (const Transfer& t : pending_) {
    memcpy(t.to, t.from, t.bytes);
    completed->push_back(t.ticket);
  }
  pending_.clear();
  left_.settle([completed](Ticket ticket) { completed->push_back(ticket); });
  return {};
}

}  // namespace tasuki::pager
