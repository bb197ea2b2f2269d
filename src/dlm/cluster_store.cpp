#include "dlm/cluster_store.h"

#include <algorithm>

namespace tasuki::dlm {
namespace {

constexpr size_t kLongestMessage = size_t{64} << 20;  // well below the 2 GiB that an int counts
constexpr size_t kTurnBytes = size_t{1} << 20;        // servers take turns after this much

std::vector<uint64_t> capacities(const std::vector<Lender>& lenders) {
  std::vector<uint64_t> slots;
  for (const Lender& lender : lenders) slots.push_back(lender.slots);
  return slots;
}

}  // namespace

ClusterStore::ClusterStore(std::vector<Lender> lenders, std::unique_ptr<Courier> courier, size_t unit_bytes,
                           Fill fill, uint32_t copies)
    : lenders_(std::move(lenders)),
      courier_(std::move(courier)),
      unit_(unit_bytes),
      map_(capacities(lenders_), fill, copies, kTurnBytes / unit_bytes),
      direct_(std::all_of(lenders_.begin(), lenders_.end(),
                          [](const Lender& l) { return l.window != nullptr; })) {}

uint64_t ClusterStore::run_limit(pager::Slot slot) const {
  return std::min<uint64_t>(map_.run_limit(slot), kLongestMessage / unit_);
}

std::string ClusterStore::describe(pager::Slot slot) const {
  const SlotMap::Place place = map_.find(slot, 0);
  return "slot " + std::to_string(place.slot) + " of " + lenders_[place.server].name;
}

uint32_t ClusterStore::take_move(pager::Ticket ticket, uint32_t parts) {
  if (free_moves_.empty()) {
    free_moves_.push_back(static_cast<uint32_t>(moves_.size()));
    moves_.push_back({});
  }
  const uint32_t move = free_moves_.back();
  free_moves_.pop_back();
  moves_[move] = {ticket, parts};
  return move;
}

void ClusterStore::finish(uint32_t move) {
  if (--moves_[move].left > 0) return;
  done_.push_back(moves_[move].ticket);
  free_moves_.push_back(move);
}

Status ClusterStore::get(pager::Slot slot, uint32_t units, std::byte* to, pager::Ticket ticket) {
  const SlotMap::Place place = map_.find(slot, 0);
  Lender& lender = lenders_[place.server];
  lender.bytes_in += units * unit_;
  if (lender.window != nullptr) {
    lender.window->get(place.slot, units, to);
    done_.push_back(ticket);
    return {};
  }
  return courier_->get(place.server, place.slot, units, to, take_move(ticket, 1));
}

Status ClusterStore::put(pager::Slot slot, uint32_t units, const std::byte* from, pager::Ticket ticket) {
  if (!released_.empty()) released_.erase(slot, slot + units);  // in use again
  const uint32_t move = take_move(ticket, map_.copies());
  for (uint32_t copy = 0; copy < map_.copies(); copy++) {
    const SlotMap::Place place = map_.find(slot, copy);
    Lender& lender = lenders_[place.server];
    lender.bytes_out += units * unit_;
    Status status;
    if (lender.window != nullptr) {
      status = lender.window->put(place.slot, units, from);
      if (status.ok()) finish(move);
    } else {
      status = courier_->put(place.server, place.slot, units, from, move);
    }
    if (!status.ok()) return status;
  }
  return {};
}

Status ClusterStore::release(pager::Slot slot, uint32_t units) {
  released_.insert(slot, slot + units);
  const uint64_t most = std::min(kKeptBytes / unit_, slots() / 16);
  return released_.size() > most ? give_back(most / 2) : Status();
}

Status ClusterStore::give_back(uint64_t keep) {
  std::vector<std::vector<Range>> ranges(lenders_.size());
  while (released_.size() > keep) {
    const auto [begin, end] = released_.pop(released_.size() - keep);
    for (uint64_t slot = begin; slot < end;) {
      const uint64_t units = std::min(end - slot, map_.run_limit(slot));
      for (uint32_t copy = 0; copy < map_.copies(); copy++) {
        const SlotMap::Place place = map_.find(slot, copy);
        Lender& lender = lenders_[place.server];
        if (lender.window != nullptr)
          lender.window->release(place.slot, units);
        else
          ranges[place.server].push_back({place.slot, units});
      }
      slot += units;
    }
  }
  // All of it is on its way before anything else to these slots can be: servers keep the order.
  for (uint32_t server = 0; server < lenders_.size(); server++) {
    const std::vector<Range>& list = ranges[server];
    for (size_t at = 0; at < list.size(); at += kRangesInMessage) {
      while (!courier_->may_release(server)) {
        Status status = collect();
        if (!status.ok()) return status;
      }
      const size_t count = std::min<size_t>(list.size() - at, kRangesInMessage);
      Status status = courier_->release(server, list.data() + at, static_cast<uint32_t>(count));
      if (!status.ok()) return status;
    }
  }
  return {};
}

Status ClusterStore::collect() {
  tokens_.clear();
  Status status = courier_->progress(&tokens_);
  for (const uint64_t token : tokens_) finish(static_cast<uint32_t>(token));
  return status;
}

Status ClusterStore::progress(std::vector<pager::Ticket>* completed) {
  Status status = collect();
  completed->insert(completed->end(), done_.begin(), done_.end());
  done_.clear();
  return status;
}

}  // namespace tasuki::dlm
