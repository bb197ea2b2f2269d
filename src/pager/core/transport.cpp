#include "pager/core/transport.h"

#include <cstring>

#include "os/clock.h"

namespace tasuki::pager {

void Transport::Traffic::count(uint64_t more) {
  swaps++;
  bytes += more;
}

void Transport::Traffic::begin(uint64_t more) {
  count(more);
  if (pages++ == 0) since = os::monotonic_seconds();
}

void Transport::Traffic::end() {
  if (--pages == 0) busy += os::monotonic_seconds() - since;
}

// Slots and buffers are both in pieces: one transfer for each stretch that is whole in both.
void Transport::start(PageId id, const Page& page, Direction direction) {
  if (loads_.size() <= id) loads_.resize(id + id / 2 + 64);
  Load& load = loads_[id];
  load = {0, direction};
  const bool in = direction == Direction::in;
  (in ? in_ : out_).begin(page.units * unit_size());
  in_flight_++;
  uint64_t unit = page.first;
  for (const Piece& piece : page.pieces) {
    for (uint32_t done = 0; done < piece.units;) {
      Slot slot;
      const uint32_t count = slots_->run(*page.region, unit, piece.units - done, &slot);
      std::byte* at = piece.at + done * unit_size();
      load.transfers++;
      const Status status =
          in ? (leaves_copies_ ? store_->get_later(slot, count, at, id) : store_->get(slot, count, at, id))
             : (leaves_copies_ ? store_->put_later(slot, count, at, id) : store_->put(slot, count, at, id));
      if (!status.ok()) return failure_->report(status);
      done += count;
      unit += count;
    }
  }
}

const std::byte* Transport::read_in_place(const Page& page) {
  Slot slot;
  if (slots_->run(*page.region, page.first, page.units, &slot) < page.units) return nullptr;
  const std::byte* const at = store_->read_in_place(slot, page.units);
  if (at != nullptr) in_.count(page.units * unit_size());
  return at;
}

bool Transport::equals(const Page& page) const {
  uint64_t unit = page.first;
  for (const Piece& piece : page.pieces) {
    for (uint32_t done = 0; done < piece.units;) {
      Slot slot;
      const uint32_t count = slots_->run(*page.region, unit, piece.units - done, &slot);
      const std::byte* const stored = store_->read_in_place(slot, count);
      if (stored == nullptr || memcmp(stored, piece.at + done * unit_size(), count * unit_size()) != 0)
        return false;
      done += count;
      unit += count;
    }
  }
  return true;
}

bool Transport::note(Status (Store::*ask)(Tickets*)) {
  tickets_.clear();
  next_ticket_ = 0;
  const Status status = (store_->*ask)(&tickets_);
  if (!status.ok()) {
    tickets_.clear();
    failure_->report(status);
  }
  return !tickets_.empty();
}

PageId Transport::next_complete() {
  while (next_ticket_ < tickets_.size()) {
    const auto id = static_cast<PageId>(tickets_[next_ticket_++]);
    Load& load = loads_[id];
    if (--load.transfers > 0) continue;
    in_flight_--;
    (load.direction == Direction::in ? in_ : out_).end();
    return id;
  }
  return kNoPage;
}

void Transport::report(Stats* stats) const {
  stats->swaps_in = in_.swaps;
  stats->bytes_in = in_.bytes;
  stats->in_seconds = in_.busy;
  stats->swaps_out = out_.swaps;
  stats->bytes_out = out_.bytes;
  stats->out_seconds = out_.busy;
}

}  // namespace tasuki::pager
