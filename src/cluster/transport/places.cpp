#include "cluster/transport/places.h"

#include <algorithm>

namespace tasuki::cluster {

Places::Places(const std::vector<uint64_t>& capacities, Fill fill, uint32_t copies, uint64_t block)
    : map_(capacities, fill, copies, block),
      capacities_(capacities),
      block_(std::max<uint64_t>(block, 1)),
      lost_(capacities.size() + 1, false),
      leaves_(capacities.size() + 1, false),
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

void Places::leave(uint32_t server) {
  if (table_.empty()) make_table();
  leaves_[server] = true;
  unused_ = table_.size();
}

void Places::stay(uint32_t server) {
  leaves_[server] = false;
  unused_ = table_.size();
}

bool Places::promise(uint64_t slots, const SlotSet& used) {
  const uint64_t before = promised_;
  promised_ = slots;
  if (slots < before) unused_ = table_.size();
  if (table_.empty() || slots <= before) return true;
  for (size_t index = segment_of(before); index < table_.size() && promised(index); index++) {
    Place place;
    if (staying_copies(index) > 0 || index == held_) continue;
    if (copy_left(index) < copies() && !used.first_in(segment(index).begin, segment(index).end).empty())
      continue;  // it is moved, as soon as it can be
    if (take(index, used, &place)) {
      move_in(index, place);
    } else if (copy_left(index) == copies()) {  // nor at a server that leaves, which stays then
      if (!take_of_leaving(index, &place)) {
        promised_ = before;
        unused_ = table_.size();
        return false;
      }
      move_in(index, place);
    }
  }
  return true;
}

uint32_t Places::staying_copies(size_t index) const {
  uint32_t count = 0;
  for (uint32_t copy = 0; copy < copies(); copy++) count += stays(table_[index], copy) ? 1 : 0;
  return count;
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

uint32_t Places::copy_to_place(size_t index) const {
  uint32_t copy = copy_lost(index);
  if (copy < copies()) return copy;
  copy = 0;
  while (copy < copies() && stays(table_[index], copy)) copy++;
  return copy;
}

uint64_t Places::slots_at(uint32_t server) const {
  uint64_t slots = 0;
  for (size_t index = 0; index < table_.size(); index++)
    for (uint32_t copy = 0; copy < copies(); copy++)
      if (table_[index].server[copy] == server) slots += units_of(index);
  return slots;
}

// The server with the most room, so that the copies of one server come to all others.
// `leaving`: or one that leaves.
bool Places::find_free(uint64_t units, uint32_t besides, Place* place, bool leaving) {
  uint64_t most = 0;
  for (uint32_t server = 0; server < free_.size(); server++) {
    if (server == besides || lost_[server] || (leaves_[server] && !leaving)) continue;
    if (free_[server].size() <= most) continue;
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
    const uint32_t staying = staying_copies(index);
    if (staying == 0 || index == held_ || !used.first_in(here.begin, here.end).empty()) continue;
    const Entry& entry = table_[index];
    if (!promised(index)) {
      for (uint32_t copy = 0; copy < copies(); copy++)
        if (stays(entry, copy)) give_up(index, copy);
      return true;
    }
    if (staying < copies() || copies() == 1) continue;
    // Of the two, that of the server with less room.
    const auto room = [&](uint32_t copy) {
      return entry.server[copy] == besides ? UINT64_MAX : free_[entry.server[copy]].size();
    };
    give_up(index, room(0) <= room(1) ? 0 : 1);
    return true;
  }
  return false;
}

bool Places::empty_leaving(size_t index, const SlotSet& used) {
  bool empty = true;
  for (uint32_t copy = 0; copy < copies(); copy++) {
    if (!leaves_[table_[index].server[copy]] || is_lost(table_[index], copy)) continue;
    Place place;
    const bool needed = promised(index) && staying_copies(index) == 0;
    if (needed && !take(index, used, &place)) {
      empty = false;
      continue;
    }
    give_up(index, copy);
    if (needed) put_in(index, copy, place);
  }
  return empty;
}

bool Places::take_of_leaving(size_t index, Place* place) {
  return find_free(units_of(index), nowhere(), place, true);
}

void Places::release(uint64_t slot, uint32_t units, const SlotSet& used) {
  for (uint64_t at = slot; !table_.empty() && at < slot + units;) {
    const size_t index = segment_of(at);
    const Segment here = segment(index);
    if (index >= unused_ && used.first_in(here.begin, here.end).empty()) idle_.insert(index, index + 1);
    at = here.end;
  }
}

bool Places::take(size_t index, const SlotSet& used, Place* place) {
  uint32_t besides = nowhere();
  for (uint32_t copy = 0; copy < copies(); copy++)
    if (stays(table_[index], copy)) besides = table_[index].server[copy];
  while (!find_free(units_of(index), besides, place))
    if (!free_one_more(used, besides)) return false;
  return true;
}

// What the segment had at a server that leaves is nobody's from now on, should that server stay: transfers
// may be under way there, and a forked child reads there.
void Places::move_in(size_t index, const Place& place) {
  put_in(index, copy_to_place(index), place);
}

void Places::put_in(size_t index, uint32_t copy, const Place& place) {
  Entry& entry = table_[index];
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
