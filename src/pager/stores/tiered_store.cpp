#include "pager/stores/tiered_store.h"

#include <algorithm>

namespace tasuki::pager {

TieredStore::TieredStore(std::vector<Store*> tiers) {
  Slot first = 0;
  for (Store* store : tiers) {
    tiers_.push_back({store, first, first + store->slots()});
    first += store->slots();
  }
  // What cannot be had now is an error of the first put that needs it.
  for (const Tier& tier : tiers_)
    if (tier.end != slots()) (void)tier.store->reserve(tier.store->slots());
}

const TieredStore::Tier& TieredStore::of(Slot slot) const {
  return *std::find_if(tiers_.begin(), tiers_.end(), [slot](const Tier& tier) { return slot < tier.end; });
}

Status TieredStore::reserve(uint64_t slots) {
  return last().store->reserve(slots - std::min(slots, last().first));
}

void TieredStore::freeze(bool frozen) {
  for (const Tier& tier : tiers_) tier.store->freeze(frozen);
}

uint64_t TieredStore::part_end(Slot slot) const {
  const Tier& tier = of(slot);
  return tier.first + tier.store->part_end(slot - tier.first);
}

uint64_t TieredStore::run_limit(Slot slot) const {
  const Tier& tier = of(slot);
  return tier.store->run_limit(slot - tier.first);
}

Status TieredStore::get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) {
  const Tier& tier = of(slot);
  return tier.store->get(slot - tier.first, units, to, ticket);
}

Status TieredStore::put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) {
  const Tier& tier = of(slot);
  return tier.store->put(slot - tier.first, units, from, ticket);
}

bool TieredStore::read_aside(Slot slot, uint32_t units, std::byte* to) const {
  const Tier& tier = of(slot);
  return tier.store->read_aside(slot - tier.first, units, to);
}

bool TieredStore::can_read_aside() const {
  return std::all_of(tiers_.begin(), tiers_.end(),
                     [](const Tier& t) { return t.first == t.end || t.store->can_read_aside(); });
}

Status TieredStore::release(Slot slot, uint32_t units) {
  const Tier& tier = of(slot);
  return tier.store->release(slot - tier.first, units);
}

Status TieredStore::progress(Tickets* completed) {
  Status status;
  for (const Tier& tier : tiers_)
    if (status.ok()) status = tier.store->progress(completed);
  return status;
}

bool TieredStore::settled() const {
  return std::all_of(tiers_.begin(), tiers_.end(), [](const Tier& tier) { return tier.store->settled(); });
}

bool TieredStore::busy() const {
  return std::any_of(tiers_.begin(), tiers_.end(), [](const Tier& tier) { return tier.store->busy(); });
}

// One descriptor only: several that are busy are asked in turn.
int TieredStore::descriptor() const {
  int found = -1;
  for (const Tier& tier : tiers_) {
    if (!tier.store->busy()) continue;
    if (found >= 0 || tier.store->descriptor() < 0) return -1;
    found = tier.store->descriptor();
  }
  return found;
}

int TieredStore::longest_rest_ms() const {
  int least = -1;
  for (const Tier& tier : tiers_) {
    const int ms = tier.store->longest_rest_ms();
    if (ms >= 0 && (least < 0 || ms < least)) least = ms;
  }
  return least;
}

std::string TieredStore::describe(Slot slot) const {
  const Tier& tier = of(slot);
  return tier.store->describe(slot - tier.first);
}

}  // namespace tasuki::pager
