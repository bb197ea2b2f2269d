#include "cluster/transport/places.h"

#include <algorithm>

namespace tasuki::cluster {

Places::Places(const std::vector<uint64_t>& capacities, Fill fill, uint32_t copies, uint64_t block)
    : map_(capacities, fill, copies, block),
      capacities_(capacities),
      block_(std::max<uint64_t>(block, 1)),
      lost_(capacities.size() + 1, false),
      unused_(0) {
  lost_.back() = true;
}

size_t Places::segment_of(uint64_t slot) const {
  const auto after = std::upper_bound(table_.begin(), table_.end(), slot,
                                      [](uint64_t s, const Entry& entry) { return s < entry.begin; });
  return static_cast<size_t>(after - table_.begin()) - 1;
}

Places::Segment Places::segment(size_t index) const {
  return {table_[index].begin, index + 1 < table_.size() ? table_[index + 1].begin : slots()};
}

Places::Place Places::find(uint64_t slot, uint32_t copy) const {
  if (table_.empty()) return map_.find(slot, copy);
  const size_t index = segment_of(slot);
  const Entry& entry = table_[index];
  return {entry.server[copy], entry.at[copy] + slot - entry.begin, segment(index).end - slot};
}

uint64_t Places::run_limit(uint64_t slot) const {
  return table_.empty() ? map_.run_limit(slot) : segment(segment_of(slot)).end - slot;
}

void Places::make_table() {
  for (const uint64_t capacity : capacities_) {
    free_.emplace_back();
    if (capacity > 0) free_.back().insert(0, capacity);
  }
  for (uint64_t slot = 0; slot < slots();) {
    const uint64_t units = std::min(map_.run_limit(slot), block_);
    Entry entry = {slot, {}, {}};
    for (uint32_t copy = 0; copy < copies(); copy++) {
      const Place place = map_.find(slot, copy);
      entry.server[copy] = place.server;
      entry.at[copy] = place.slot;
      free_[place.server].erase(place.slot, place.slot + units);
    }
    table_.push_back(entry);
    slot += units;
  }
}

void Places::lose(uint32_t server) {
  if (table_.empty()) make_table();
  lost_[server] = true;
  unused_ = table_.size();
}

uint32_t Places::copy_left(size_t index) const {
  uint32_t copy = 0;
  while (copy < copies() && is_lost(table_[index], copy)) copy++;
  return copy;
}

uint32_t Places::copy_lost(size_t index) const {
  uint32_t copy = 0;
  while (copy < copies() && !is_lost(table_[index], copy)) copy++;
  return copy;
}

// The server with the most room, so that the copies of one server come to all others.
bool Places::find_free(uint64_t units, uint32_t besides, Place* place) {
  uint64_t most = 0;
  for (uint32_t server = 0; server < free_.size(); server++) {
    if (server == besides || lost_[server] || free_[server].size() <= most) continue;
    uint64_t at = 0;
    if (!free_[server].find(units, &at)) continue;
    most = free_[server].size();
    *place = {server, at, units};
  }
  if (most == 0) return false;
  free_[place->server].erase(place->slot, place->slot + units);
  return true;
}

// What is taken should not be of `besides`. The last slots are the last to be used.
bool Places::free_one_more(const SlotSet& used, uint32_t besides) {
  while (unused_ > 0 || !idle_.empty()) {
    const size_t index = unused_ > 0 ? --unused_ : idle_.pop(1).first;
    const Segment here = segment(index);
    if (copy_lost(index) < copies() || !used.first_in(here.begin, here.end).empty()) continue;
    const Entry& entry = table_[index];
    // Of the two, that of the server with less room.
    const auto room = [&](uint32_t copy) {
      return entry.server[copy] == besides ? UINT64_MAX : free_[entry.server[copy]].size();
    };
    give_up(index, room(0) <= room(1) ? 0 : 1);
    return true;
  }
  return false;
}

void Places::leave(uint64_t slot, uint32_t units, const SlotSet& used) {
  for (uint64_t at = slot; !table_.empty() && at < slot + units;) {
    const size_t index = segment_of(at);
    const Segment here = segment(index);
    if (index >= unused_ && used.first_in(here.begin, here.end).empty()) idle_.insert(index, index + 1);
    at = here.end;
  }
}

bool Places::take(size_t index, const SlotSet& used, Place* place) {
  const uint32_t left = copy_left(index);
  const uint32_t besides = left < copies() ? table_[index].server[left] : nowhere();
  while (!find_free(units_of(index), besides, place))
    if (!free_one_more(used, besides)) return false;
  return true;
}

void Places::move_in(size_t index, const Place& place) {
  Entry& entry = table_[index];
  const uint32_t copy = copy_lost(index);
  entry.server[copy] = place.server;
  entry.at[copy] = place.slot;
}

void Places::give_back(size_t index, const Place& place) {
  free_[place.server].insert(place.slot, place.slot + units_of(index));
}

void Places::give_up(size_t index, uint32_t copy) {
  Entry& entry = table_[index];
  give_back(index, {entry.server[copy], entry.at[copy], 0});
  entry.server[copy] = nowhere();
}

}  // namespace tasuki::cluster
