#include "cluster/transport/places.h"

#include <algorithm>

namespace tasuki::cluster {

Places::Places(const std::vector<uint64_t>& capacities, Fill fill, Redundancy redundancy, uint64_t block)
    : map_(capacities, fill, redundancy.copies, block),
      capacities_(capacities),
      needed_(redundancy.needed),
      block_(std::max<uint64_t>(block, 1)),
      lost_(capacities.size() + 1, false),
      leaves_(capacities.size() + 1, false),
      keeps_(redundancy.needed),
      unused_(0) {
  lost_.back() = true;
}

size_t Places::segment_of(uint64_t slot) const {
  const auto after = std::upper_bound(begin_.begin(), begin_.end(), slot);
  return static_cast<size_t>(after - begin_.begin()) - 1;
}

Places::Segment Places::segment(size_t index) const {
  return {begin_[index], index + 1 < segments() ? begin_[index + 1] : slots()};
}

Places::Place Places::find(uint64_t slot, uint32_t copy) const {
  if (segments() == 0) return map_.find(slot, copy);
  const size_t index = segment_of(slot);
  const Copy& here = entry(index)[copy];
  return {here.server, here.at + slot - begin_[index], segment(index).end - slot};
}

uint64_t Places::run_limit(uint64_t slot) const {
  return segments() == 0 ? map_.run_limit(slot) : segment(segment_of(slot)).end - slot;
}

void Places::make_table() {
  for (const uint64_t capacity : capacities_) {
    free_.emplace_back();
    spare_.emplace_back();
    if (capacity > 0) free_.back().insert(0, capacity);
  }
  for (uint64_t slot = 0; slot < slots();) {
    const uint64_t units = std::min(map_.run_limit(slot), block_);
    begin_.push_back(slot);
    for (uint32_t copy = 0; copy < copies(); copy++) {
      const Place place = map_.find(slot, copy);
      table_.push_back({place.slot, place.server});
      free_[place.server].erase(place.slot, place.slot + units);
    }
    slot += units;
  }
}

void Places::lose(uint32_t server) {
  if (segments() == 0) make_table();
  lost_[server] = true;
  servers_changed();
}

void Places::leave(uint32_t server) {
  if (segments() == 0) make_table();
  leaves_[server] = true;
  servers_changed();
}

void Places::stay(uint32_t server) {
  leaves_[server] = false;
  servers_changed();
}

void Places::servers_changed() {
  uint32_t out = 0;
  for (uint32_t server = 0; server < nowhere(); server++) out += lost_[server] || leaves_[server] ? 1 : 0;
  keeps_ = std::max(needed_, copies() - std::min(out, copies()));
  look_again();
}

void Places::look_again() {
  unused_ = segments();
  for (Ranges& spare : spare_) spare = {};
}

bool Places::promise(uint64_t slots, const SlotSet& used) {
  const uint64_t before = promised_;
  promised_ = slots;
  if (slots < before) look_again();
  if (segments() == 0 || slots <= before) return true;
  for (size_t index = segment_of(before); index < segments() && promised(index); index++) {
    if (!is_idle(index, used)) continue;  // it is moved, as soon as it can be, or lost
    while (staying_copies(index) < keeps_) {
      Place place;
      if (!take(index, used, &place)) {
        if (!gone(index)) break;
        if (!take_of_leaving(index, &place)) {  // nor at a server that leaves, which stays then
          promised_ = before;
          look_again();
          return false;
        }
      }
      move_in(index, place);
    }
  }
  return true;
}

bool Places::is_idle(size_t index, const SlotSet& used) const {
  return index != held_ && used.first_in(segment(index).begin, segment(index).end).empty();
}

void Places::hold(size_t index) {
  if (held_ != nothing()) idle_.insert(held_, held_ + 1);  // it may have been released meanwhile
  held_ = index;
}

uint32_t Places::copies_left(size_t index) const {
  uint32_t count = 0;
  for (uint32_t copy = 0; copy < copies(); copy++) count += has(index, copy) ? 1 : 0;
  return count;
}

uint32_t Places::staying_copies(size_t index) const {
  uint32_t count = 0;
  for (uint32_t copy = 0; copy < copies(); copy++) count += stays(index, copy) ? 1 : 0;
  return count;
}

uint32_t Places::copy_lost(size_t index) const {
  uint32_t copy = 0;
  while (copy < copies() && has(index, copy)) copy++;
  return copy;
}

uint32_t Places::copy_to_place(size_t index) const {
  uint32_t copy = copy_lost(index);
  if (copy < copies()) return copy;
  copy = 0;
  while (copy < copies() && stays(index, copy)) copy++;
  return copy;
}

bool Places::has_copy_at(size_t index, uint32_t server) const {
  return copy_at(index, server) < copies();
}

uint64_t Places::slots_at(uint32_t server) const {
  uint64_t slots = 0;
  for (size_t index = 0; index < segments(); index++)
    if (has_copy_at(index, server)) slots += units_of(index);
  return slots;
}

// The server with the most room of those that have no copy of the segment, so that the copies of one server
// come to all others. `leaving`: or one that leaves.
bool Places::find_free(size_t index, Place* place, bool leaving) {
  const uint64_t units = units_of(index);
  uint64_t most = 0;
  for (uint32_t server = 0; server < free_.size(); server++) {
    if (lost_[server] || (leaves_[server] && !leaving) || has_copy_at(index, server)) continue;
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

// Of the servers where something has a place to spare for a copy of this segment, the one with the least
// room.
uint32_t Places::server_with_spare(size_t index) const {
  uint32_t found = nowhere();
  uint64_t least = UINT64_MAX;
  for (uint32_t server = 0; server < nowhere(); server++) {
    if (lost_[server] || leaves_[server] || spare_[server].empty() || has_copy_at(index, server)) continue;
    if (free_[server].size() >= least) continue;
    least = free_[server].size();
    found = server;
  }
  return found;
}

uint32_t Places::copy_at(size_t index, uint32_t server) const {
  uint32_t copy = 0;
  while (copy < copies() && entry(index)[copy].server != server) copy++;
  return copy;
}

// Of a segment that is not in use, the copy at that server. False: it needs it, or has none there.
bool Places::give_up_spare(size_t index, uint32_t server, const SlotSet& used) {
  if (!is_idle(index, used) || staying_copies(index) <= keeps_) return false;
  const uint32_t copy = copy_at(index, server);
  if (copy == copies()) return false;
  give_up(index, copy);
  return true;
}

// Of the copies of a segment that stay, the one whose place is of most use for another segment. copies():
// none is of any.
uint32_t Places::copy_to_give(size_t index, size_t to) const {
  uint32_t found = copies();
  uint64_t least = UINT64_MAX;
  for (uint32_t copy = 0; copy < copies(); copy++) {
    const uint32_t server = entry(index)[copy].server;
    if (!stays(index, copy) || has_copy_at(to, server) || free_[server].size() >= least) continue;
    least = free_[server].size();
    found = copy;
  }
  return found;
}

// For a copy of this segment. What may have places to spare is looked at once, the last slots, which are the
// last to be used, first, and then known by its servers.
bool Places::free_one_more(const SlotSet& used, size_t index) {
  for (;;) {
    if (const uint32_t server = server_with_spare(index); server < nowhere()) {
      if (give_up_spare(spare_[server].pop(1).first, server, used)) return true;
      continue;
    }
    if (unused_ == 0 && idle_.empty()) return false;
    const size_t one = unused_ > 0 ? --unused_ : idle_.pop(1).first;
    const uint32_t staying = staying_copies(one);
    if (staying == 0 || !is_idle(one, used)) continue;
    const bool all = !promised(one);
    for (uint32_t copy = 0; copy < copies(); copy++) {
      if (!stays(one, copy) || (!all && staying <= keeps_)) continue;
      if (all)
        give_up(one, copy);
      else
        spare_[entry(one)[copy].server].insert(one, one + 1);
    }
    if (all) return true;
  }
}

bool Places::empty_leaving(size_t index, const SlotSet& used) {
  bool empty = true;
  for (uint32_t copy = 0; copy < copies(); copy++) {
    if (!has(index, copy) || stays(index, copy)) continue;
    Place place;
    const uint32_t staying = promised(index) ? staying_copies(index) : copies();
    const bool found = staying < keeps_ && take(index, used, &place);
    if (!found && staying < needed_) {
      empty = false;
      continue;
    }
    give_up(index, copy);
    if (found) move_in(index, copy, place);
  }
  return empty;
}

bool Places::take_of_leaving(size_t index, Place* place) {
  return find_free(index, place, true);
}

void Places::release(uint64_t slot, uint32_t units, const SlotSet& used) {
  for (uint64_t at = slot; segments() > 0 && at < slot + units;) {
    const size_t index = segment_of(at);
    const Segment here = segment(index);
    at = here.end;
    if (index >= unused_ && is_idle(index, used)) idle_.insert(index, index + 1);
  }
}

bool Places::take(size_t index, const SlotSet& used, Place* place) {
  while (!find_free(index, place)) {
    if (free_one_more(used, index)) continue;
    if (!gone(index) || keeps_ == needed_) return false;
    keeps_ = needed_;
    look_again();
  }
  return true;
}

// What the segment had at a server that leaves is nobody's from now on, should that server stay: transfers
// may be under way there, and a forked child reads there.
void Places::move_in(size_t index, uint32_t copy, const Place& place) {
  entry(index)[copy] = {place.slot, place.server};
}

void Places::give_back(size_t index, const Place& place) {
  free_[place.server].insert(place.slot, place.slot + units_of(index));
}

void Places::give_up(size_t index, uint32_t copy) {
  Copy& here = entry(index)[copy];
  give_back(index, {here.server, here.at, 0});
  here.server = nowhere();
}

}  // namespace tasuki::cluster
