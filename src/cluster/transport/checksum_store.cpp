#include "cluster/transport/checksum_store.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "os/memory/mapping.h"

namespace tasuki::cluster {
namespace {

size_t table_bytes(uint64_t slots) {
  return os::page_ceil(slots * sizeof(uint64_t) + 1);
}

}  // namespace

Result<std::unique_ptr<ChecksumStore>> ChecksumStore::create(pager::Store* inner) {
  void* sums = os::map_memory(table_bytes(inner->slots()));  // memory only where slots are used
  if (sums == nullptr)
    return Status::error(ENOMEM, "--checksum: no address space for the checksums of " +
                                     std::to_string(inner->slots()) + " pages");
  return std::unique_ptr<ChecksumStore>(new ChecksumStore(inner, static_cast<uint64_t*>(sums)));
}

ChecksumStore::~ChecksumStore() {
  os::unmap(sums_, table_bytes(inner_->slots()));
}

Status ChecksumStore::get(pager::Slot slot, uint32_t units, std::byte* to, pager::Ticket ticket) {
  return inner_->get(slot, units, to, transfers_.enter({ticket, slot, units, to}));
}

pager::Ticket ChecksumStore::enter_put(pager::Slot slot, uint32_t units, const std::byte* from,
                                       pager::Ticket ticket) {
  const size_t unit = unit_bytes();
  for (uint32_t i = 0; i < units; i++) sums_[slot + i] = XXH3_64bits(from + i * unit, unit);
  return transfers_.enter({ticket, slot, units, nullptr});
}

Status ChecksumStore::put(pager::Slot slot, uint32_t units, const std::byte* from, pager::Ticket ticket) {
  return inner_->put(slot, units, from, enter_put(slot, units, from, ticket));
}

Status ChecksumStore::get_later(pager::Slot slot, uint32_t units, std::byte* to, pager::Ticket ticket) {
  return inner_->get_later(slot, units, to, transfers_.enter({ticket, slot, units, to}));
}

Status ChecksumStore::put_later(pager::Slot slot, uint32_t units, const std::byte* from,
                                pager::Ticket ticket) {
  return inner_->put_later(slot, units, from, enter_put(slot, units, from, ticket));
}

bool ChecksumStore::read_aside(pager::Slot slot, uint32_t units, std::byte* to) const {
  if (!inner_->read_aside(slot, units, to)) return false;
  for (uint32_t i = 0; i < units; i++)
    if (XXH3_64bits(to + i * unit_bytes(), unit_bytes()) != sums_[slot + i]) return false;
  return true;
}

Status ChecksumStore::note(Status (pager::Store::*ask)(pager::Tickets*), pager::Tickets* completed) {
  const size_t first = completed->size(), unit = unit_bytes();
  const Status status = (inner_->*ask)(completed);
  for (size_t i = first; i < completed->size(); i++) {
    const pager::Ticket own = (*completed)[i];
    const Transfer t = transfers_[own];
    transfers_.leave(static_cast<uint32_t>(own));
    (*completed)[i] = t.ticket;
    for (uint32_t k = 0; t.to != nullptr && k < t.units; k++)
      if (XXH3_64bits(t.to + k * unit, unit) != sums_[t.slot + k])
        return Status::error(EIO, inner_->describe(t.slot + k) +
                                      ": a page came back changed (its checksum differs): the memory of that "
                                      "host or the network is faulty");
  }
  return status;
}

}  // namespace tasuki::cluster
