#include "cluster/transport/cluster_store.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "cluster/transport/idle.h"
#include "os/files/streams.h"
#include "os/memory/mapping.h"

namespace tasuki::cluster {
namespace {

constexpr size_t kLongestMessage = size_t{64} << 20;  // well below the 2 GiB that an int counts
constexpr size_t kTurnBytes = size_t{1} << 20;        // servers take turns after this much
constexpr size_t kBuffersKept = 16;

std::vector<uint64_t> capacities(const std::vector<Lender>& lenders) {
  std::vector<uint64_t> slots;
  for (const Lender& lender : lenders) slots.push_back(lender.slots);
  return slots;
}

}  // namespace

ClusterStore::ClusterStore(std::vector<Lender> lenders, std::unique_ptr<Courier> courier, size_t unit_bytes,
                           Fill fill, Redundancy redundancy, std::unique_ptr<ReedSolomon> code,
                           uint32_t threads)
    : lenders_(std::move(lenders)),
      courier_(std::move(courier)),
      unit_(unit_bytes),
      part_(redundancy.part(unit_bytes)),
      parts_(code == nullptr ? nullptr : std::make_unique<PageParts>(std::move(code), unit_bytes)),
      places_(capacities(lenders_), fill, redundancy, kTurnBytes / unit_bytes),
      direct_(parts_ == nullptr && std::all_of(lenders_.begin(), lenders_.end(),
                                               [](const Lender& l) { return l.window != nullptr; })),
      team_(threads) {
  if (!direct_)
    restorer_ = std::make_unique<Restorer>(&places_, courier_.get(), &lenders_, &team_, unit_,
                                           parts_ == nullptr ? nullptr : &parts_->code());
}

Status ClusterStore::reserve(uint64_t slots) {
  if (!restorer_) return {};
  if (const Status status = note_changes(); !status.ok()) return status;
  const bool fewer = slots < places_.promised();
  if (!places_.promise(slots, restorer_->used()))
    return Status::error(ENOMEM, "the memory servers that are left have no room for " +
                                     bytes_text(slots * unit_, BytesStyle::rounded));
  if (fewer) restorer_->try_again();
  return {};
}

uint64_t ClusterStore::run_limit(pager::Slot slot) const {
  return std::min<uint64_t>(places_.run_limit(slot), kLongestMessage / unit_);
}

std::string ClusterStore::describe(pager::Slot slot) const {
  Places::Place place = places_.find(slot, 0);
  for (uint32_t copy = 1; copy < places_.copies() && !there(place.server); copy++)
    place = places_.find(slot, copy);
  if (place.server == lenders_.size()) return "slot " + std::to_string(slot) + ", which has no place";
  return "slot " + std::to_string(place.slot) + " of " + lenders_[place.server].name;
}

void ClusterStore::finish(uint32_t move) {
  const Move& m = moves_[move];
  if (--moves_[move].left > 0) return;
  if (m.failed) return again_.push_back(move);
  if (m.buffer != kNone) {
    if (m.to != nullptr) parts_->join(m.to, m.units, m.have, buffers_[m.buffer].data());
    give_buffer(m.buffer);
  }
  moves_.leave(move);
  if (m.whole != kNone) return finish(m.whole);
  done_.push_back(m.ticket);
  under_way_--;
}

// Of those who have the slot, the one to ask: one whose memory is here, else the first that is there.
bool ClusterStore::holder(pager::Slot slot, Places::Place* place) const {
  bool found = false;
  for (uint32_t copy = 0; copy < places_.copies(); copy++) {
    const Places::Place here = places_.find(slot, copy);
    const bool window = there(here.server) && lenders_[here.server].window != nullptr;
    if (!there(here.server) || (found && !window)) continue;
    found = true;
    *place = here;
    if (window) break;
  }
  return found;
}

uint32_t ClusterStore::take_buffer(size_t bytes) {
  if (free_buffers_.empty()) {
    free_buffers_.push_back(static_cast<uint32_t>(buffers_.size()));
    buffers_.emplace_back();
  }
  const uint32_t number = free_buffers_.back();
  free_buffers_.pop_back();
  if (buffers_[number].size() < bytes) buffers_[number].resize(bytes);
  return number;
}

void ClusterStore::give_buffer(uint32_t number) {
  if (free_buffers_.size() >= kBuffersKept) pager::OwnVector<std::byte>().swap(buffers_[number]);
  free_buffers_.push_back(number);
}

Status ClusterStore::lost_for_good(pager::Slot slot) const {
  std::string text;
  for (uint32_t copy = 0; copy < places_.copies(); copy++) {
    const uint32_t server = places_.find(slot, copy).server;
    if (server == lenders_.size()) continue;  // there was no room for this copy
    if (parts_ != nullptr && there(server)) continue;
    const char* const next =
        parts_ != nullptr ? ", and other parts: memory server " : ", and its copy: memory server ";
    text += (text.empty() ? "memory server " : next) + lenders_[server].name + courier_->fate(server);
  }
  return Status::error(EIO, text.empty() ? "no memory server that is left has room for it" : text);
}

// Starts a move by start(move, 0). Slots that followed each other when it was asked for may not any more:
// then by start(part, offset in slots) for each part, which is a move of its own.
template <class Start>
Status ClusterStore::in_parts(uint32_t move, Start start) {
  const Move whole = moves_[move];
  const auto units_from = [&](uint32_t done) {
    return static_cast<uint32_t>(
        std::min<uint64_t>(whole.units - done, places_.run_limit(whole.slot + done)));
  };
  if (units_from(0) == whole.units) return start(move, 0);
  Status status;
  for (uint32_t done = 0; done < whole.units && status.ok();) {
    const uint32_t units = units_from(done);
    std::byte* const to = whole.to != nullptr ? whole.to + done * unit_ : nullptr;
    moves_[move].left++;
    status = start(moves_.enter({0, 1, whole.slot + done, units, to, move}), done);
    done += units;
  }
  finish(move);  // what it was left with itself
  return status;
}

Status ClusterStore::fetch(uint32_t move) {
  return in_parts(move, [this](uint32_t part, uint32_t) { return fetch_part(part); });
}

Status ClusterStore::fetch_part(uint32_t move) {
  if (parts_ != nullptr) return fetch_parts(move);
  const Move m = moves_[move];
  Places::Place place;
  if (!holder(m.slot, &place)) return lost_for_good(m.slot);
  return start_get(move, place, m.units, m.to);
}

// One of the transfers of a move.
Status ClusterStore::start_get(uint32_t move, const Places::Place& from, uint32_t units, std::byte* to) {
  Lender& lender = lenders_[from.server];
  lender.bytes_in += units * part_;
  if (lender.window == nullptr) return courier_->get(from.server, from.slot, units, to, move);
  lender.window->get(from.slot, units, to, &team_);
  finish(move);
  return {};
}

// A bit for each copy, as many as are needed: a page's own parts first, of which nothing has to be computed.
// 0: too few are left.
uint32_t ClusterStore::copies_to_get(pager::Slot slot, uint32_t but) const {
  uint32_t have = 0, count = 0;
  for (uint32_t copy = 0; copy < places_.copies() && count < places_.needed(); copy++) {
    if ((but >> copy & 1) != 0 || !there(places_.find(slot, copy).server)) continue;
    have |= 1u << copy;
    count++;
  }
  return count < places_.needed() ? 0 : have;
}

Status ClusterStore::fetch_parts(uint32_t move) {
  Move& m = moves_[move];
  m.have = copies_to_get(m.slot);
  if (m.have == 0) return lost_for_good(m.slot);
  m.buffer = take_buffer(parts_->bytes_to_join(m.units, m.have));
  m.left = places_.needed();
  std::byte* to[Redundancy::kMostCopies];
  parts_->lay_out(m.to, m.units, m.have, buffers_[m.buffer].data(), to);
  const Move now = m;  // it is over when the last part is here
  for (uint32_t part = 0; part < places_.copies(); part++) {
    if ((now.have >> part & 1) == 0) continue;
    const Status status = start_get(move, places_.find(now.slot, part), now.units, to[part]);
    if (!status.ok()) return status;
  }
  return {};
}

Status ClusterStore::get(pager::Slot slot, uint32_t units, std::byte* to, pager::Ticket ticket) {
  under_way_++;
  return fetch(moves_.enter({ticket, 1, slot, units, to}));
}

Status ClusterStore::put(pager::Slot slot, uint32_t units, const std::byte* from, pager::Ticket ticket) {
  if (!released_.empty()) released_.erase(slot, slot + units);  // in use again
  if (const Status status = note_changes(); !status.ok()) return status;
  const auto moves = [this](const Places::Segment& segment) { return moving(segment, false); };
  if (restorer_ && (restorer_->holds(slot, units) || !restorer_->use(slot, units, moves))) {
    held_.push_back({slot, units, from, ticket});
    return {};
  }
  under_way_++;
  return in_parts(moves_.enter({ticket, 1, slot, units, nullptr}),
                  [&](uint32_t part, uint32_t done) { return send_part(part, from + done * unit_); });
}

// To all who have the slots.
Status ClusterStore::send_part(uint32_t move, const std::byte* from) {
  const Move m = moves_[move];
  if (is_gone(m.slot)) return lost_for_good(m.slot);
  const std::byte* copies[Redundancy::kMostCopies];
  std::fill_n(copies, places_.copies(), from);
  if (parts_ != nullptr) {
    const uint32_t buffer = take_buffer(parts_->bytes_to_cut(m.units));
    parts_->cut(from, m.units, buffers_[buffer].data(), copies);
    moves_[move].buffer = buffer;
  }
  moves_[move].left = places_.copies();
  for (uint32_t copy = 0; copy < places_.copies(); copy++) {
    const Places::Place place = places_.find(m.slot, copy);
    if (!there(place.server)) {
      finish(move);
      continue;
    }
    Lender& lender = lenders_[place.server];
    lender.bytes_out += m.units * part_;
    Status status;
    if (lender.window != nullptr) {
      status = lender.window->put(place.slot, m.units, copies[copy], &team_);
      if (status.ok()) finish(move);
    } else {
      status = courier_->put(place.server, place.slot, m.units, copies[copy], move);
    }
    if (!status.ok()) return status;
  }
  return {};
}

Status ClusterStore::get_later(pager::Slot slot, uint32_t units, std::byte* to, pager::Ticket ticket) {
  if (!direct_) return get(slot, units, to, ticket);
  lenders_[places_.find(slot, 0).server].bytes_in += units * unit_;
  left_.add({slot, units, to, nullptr, ticket});
  return {};
}

Status ClusterStore::put_later(pager::Slot slot, uint32_t units, const std::byte* from,
                               pager::Ticket ticket) {
  if (!direct_) return put(slot, units, from, ticket);
  if (!released_.empty()) released_.erase(slot, slot + units);  // in use again
  for (uint32_t copy = 0; copy < places_.copies(); copy++)
    lenders_[places_.find(slot, copy).server].bytes_out += units * unit_;
  left_.add({slot, units, nullptr, from, ticket});
  return {};
}

const std::byte* ClusterStore::read_in_place(pager::Slot slot, uint32_t units) {
  if (!direct_) return nullptr;
  const Places::Place place = places_.find(slot, 0);
  lenders_[place.server].bytes_in += units * unit_;
  return lenders_[place.server].window->at(place.slot);
}

// A handler of the child may have been called on a small stack, and where malloc was interrupted.
bool ClusterStore::read_parts_aside(pager::Slot slot, uint32_t units, std::byte* to) const {
  for (uint32_t bad = 0;;) {
    const uint32_t have = copies_to_get(slot, bad);
    if (have == 0) return false;
    const size_t bytes = os::page_ceil(parts_->bytes_to_join(units, have));
    std::byte* const buffer = bytes == 0 ? nullptr : static_cast<std::byte*>(os::map_memory(bytes));
    if (bytes > 0 && buffer == nullptr) return false;
    std::byte* at[Redundancy::kMostCopies];
    parts_->lay_out(to, units, have, buffer, at);
    bool all = true;
    for (uint32_t part = 0; part < places_.copies() && all; part++) {
      if ((have >> part & 1) == 0) continue;
      const Places::Place place = places_.find(slot, part);
      all = courier_->read_aside(place.server, place.slot, units, at[part]);
      if (!all) bad |= 1u << part;
    }
    if (all) parts_->join(to, units, have, buffer);
    if (buffer != nullptr) os::unmap(buffer, bytes);
    if (all) return true;
  }
}

bool ClusterStore::read_aside(pager::Slot slot, uint32_t units, std::byte* to) const {
  if (parts_ != nullptr) return read_parts_aside(slot, units, to);
  if (!direct_) {
    for (uint32_t copy = 0; copy < places_.copies(); copy++) {
      const Places::Place place = places_.find(slot, copy);
      if (there(place.server) && courier_->read_aside(place.server, place.slot, units, to)) return true;
    }
    return false;
  }
  const Places::Place place = places_.find(slot, 0);
  memcpy(to, lenders_[place.server].window->at(place.slot), units * unit_);
  return true;
}

Status ClusterStore::copy_left() {
  return left_.copy([this](const pager::LeftCopies::Copy& copy) { return copy_directly(copy); });
}

Status ClusterStore::copy_directly(const pager::LeftCopies::Copy& copy) {
  const bool get = copy.to != nullptr;
  for (uint32_t i = 0; i < (get ? 1 : places_.copies()); i++) {
    const Places::Place place = places_.find(copy.slot, i);
    WindowMemory& window = *lenders_[place.server].window;
    Status status;
    if (get)
      window.get(place.slot, copy.units, copy.to, &team_);
    else
      status = window.put(place.slot, copy.units, copy.from, &team_);
    if (!status.ok()) return status;
  }
  return {};
}

Status ClusterStore::release(pager::Slot slot, uint32_t units) {
  released_.insert(slot, slot + units);
  if (restorer_) restorer_->release(slot, units);
  const uint64_t most = std::min(kKeptBytes / unit_, slots() / 16);
  return released_.size() > most ? give_back(most / 2) : Status();
}

Status ClusterStore::give_back(uint64_t keep) {
  // For those who are told by message. None: also no memory, see pager/own_memory.h.
  std::vector<std::vector<Range>> ranges(direct_ ? 0 : lenders_.size());
  Ranges kept;
  while (released_.size() > keep) {
    const auto [begin, end] = released_.pop(released_.size() - keep);
    if (restorer_ && restorer_->holds(begin, end - begin)) {
      kept.insert(begin, end);
      continue;
    }
    for (uint64_t slot = begin; slot < end;) {
      const uint64_t units = std::min(end - slot, places_.run_limit(slot));
      for (uint32_t copy = 0; copy < places_.copies(); copy++) {
        const Places::Place place = places_.find(slot, copy);
        if (!there(place.server)) continue;
        Lender& lender = lenders_[place.server];
        if (lender.window != nullptr)
          lender.window->release(place.slot, units);
        else
          ranges[place.server].push_back({place.slot, units});
      }
      slot += units;
    }
  }
  while (!kept.empty()) {
    const auto [begin, end] = kept.pop(kept.size());
    released_.insert(begin, end);
  }
  // All of it is on its way before anything else to these slots can be, copies that are made again among it:
  // servers keep the order.
  for (uint32_t server = 0; server < ranges.size(); server++) {
    const std::vector<Range>& list = ranges[server];
    for (size_t at = 0; at < list.size(); at += kRangesInMessage) {
      while (!courier_->may_release(server)) {
        Status status = ask_servers();
        if (!status.ok()) return status;
      }
      const size_t count = std::min<size_t>(list.size() - at, kRangesInMessage);
      Status status = courier_->release(server, list.data() + at, static_cast<uint32_t>(count));
      if (!status.ok()) return status;
    }
  }
  if (restorer_) restorer_->try_again();
  return {};
}

Status ClusterStore::ask_servers() {
  tokens_.clear();
  lost_.clear();
  Status status = courier_->progress(&tokens_, &lost_);
  if (status.ok()) status = note_changes();
  for (const uint64_t token : tokens_) {
    if (token == Restorer::kToken)
      restorer_->arrived();
    else
      finish(static_cast<uint32_t>(token));
  }
  for (size_t i = 0; i < lost_.size() && status.ok(); i++) {
    if (lost_[i] == Restorer::kToken) {
      restorer_->lost();
      continue;
    }
    status = lose(static_cast<uint32_t>(lost_[i]));
  }
  while (!again_.empty() && status.ok()) {
    Move& m = moves_[again_.back()];
    give_buffer(m.buffer);
    m = {m.ticket, 1, m.slot, m.units, m.to, m.whole};
    const uint32_t move = again_.back();
    again_.pop_back();
    status = fetch(move);
  }
  return status;
}

// One of its transfers is lost, with its server.
Status ClusterStore::lose(uint32_t move) {
  Move& m = moves_[move];
  if (m.to != nullptr && parts_ == nullptr) return fetch(move);
  if (m.to == nullptr && is_gone(m.slot)) return lost_for_good(m.slot);
  m.failed = m.to != nullptr;
  finish(move);  // of a put: others have it, or will
  return {};
}

Status ClusterStore::note_changes() {
  if (!restorer_ || !changes_to_note()) return {};
  losses_ = courier_->losses();
  leaving_ = courier_->leaving();
  for (uint32_t server = 0; server < lenders_.size(); server++) {
    if (!there(server) && !places_.lost(server)) places_.lose(server);
  }
  decide_who_leaves();
  restorer_->begin();
  const uint64_t gone = places_.copies() == 1 ? restorer_->first_gone() : slots();
  return gone < slots() ? lost_for_good(gone) : Status();
}

// As many stay as there are to be copies.
void ClusterStore::decide_who_leaves() {
  uint32_t staying = 0;
  for (uint32_t server = 0; server < lenders_.size(); server++)
    staying += there(server) && !places_.leaves(server) ? 1 : 0;
  for (uint32_t server = 0; server < lenders_.size(); server++) {
    if (!there(server) || !courier_->leaves(server)) continue;
    if (!places_.leaves(server) && staying > places_.copies()) {
      places_.leave(server);
      staying--;
    } else if (places_.leaves(server) && staying < places_.copies()) {
      places_.stay(server);
      staying++;
    }
  }
}

bool ClusterStore::moving(const Places::Segment& segment, bool puts_only) const {
  for (size_t i = 0; i < moves_.size(); i++) {
    const Move& m = moves_[i];
    if (m.left > 0 && (m.to == nullptr || !puts_only) && m.slot < segment.end &&
        segment.begin < m.slot + m.units)
      return true;
  }
  return false;
}

Status ClusterStore::restore() {
  Status status = restorer_->go_on([this](const Places::Segment& segment) { return moving(segment, true); });
  size_t i = 0;
  for (size_t all = held_.size(); all > 0 && status.ok(); all--) {  // put() may hold it again
    const Held held = held_[i];
    if (restorer_->holds(held.slot, held.units)) {
      i++;
      continue;
    }
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(i));
    status = put(held.slot, held.units, held.from, held.ticket);
  }
  return status;
}

// A server whose memory is a window takes no part in anything: its end goes unnoticed otherwise.
void ClusterStore::look_for_ended_servers() {
  for (uint32_t server = 0; server < lenders_.size(); server++) {
    const Lender& lender = lenders_[server];
    if (!lender.process.valid() || !courier_->alive(server)) continue;
    os::Awaited end(lender.process.get());
    if (os::wait_for(&end, 1, 0) == 1)
      courier_->lose(server, " has ended",
                     "nothing is lost, rank 0 has its memory mapped and goes on with it");
  }
}

void ClusterStore::finish() {
  courier_->finish();
  look_for_ended_servers();
}

std::vector<int> ClusterStore::lost() const {
  std::vector<int> ranks;
  for (uint32_t server = 0; server < lenders_.size(); server++)
    if (!courier_->alive(server)) ranks.push_back(static_cast<int>(server) + 1);
  return ranks;
}

Status ClusterStore::progress(pager::Tickets* completed) {
  if (++calls_ % kCallsBetweenLooks == 0 && os::monotonic_ns() - looked_ns_ > 1'000'000'000) {
    look_for_ended_servers();
    looked_ns_ = os::monotonic_ns();
  }
  Status status = ask_servers();
  if (status.ok() && restorer_) status = restore();
  return status.ok() ? collect(completed) : status;
}

Status ClusterStore::collect(pager::Tickets* completed) {
  left_.settle([completed](pager::Ticket ticket) { completed->push_back(ticket); });
  completed->insert(completed->end(), done_.begin(), done_.end());
  done_.clear();
  return {};
}

}  // namespace tasuki::cluster
