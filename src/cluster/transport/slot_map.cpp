#include "cluster/transport/slot_map.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

namespace tasuki::cluster {
namespace {

constexpr uint64_t kMostBlocks = 1 << 20;  // the table's size stays below 16 MiB; blocks grow instead

// How many things fit when each needs places on `copies` different servers.
uint64_t most(const std::vector<uint64_t>& capacities, uint32_t copies) {
  const uint64_t sum = std::accumulate(capacities.begin(), capacities.end(), uint64_t{0});
  if (copies == 1) return sum;
  // A server can have one place of each thing. So `n` things fit if the servers have copies * n places when
  // no server counts for more than n; and if they fit, fewer do.
  const auto fit = [&](uint64_t n) {
    uint64_t places = 0;
    for (const uint64_t capacity : capacities) places += std::min(capacity, n);
    return places >= copies * n;
  };
  uint64_t least = 0, over = sum / copies + 1;  // the answer is `least` or between
  while (over - least > 1) {
    const uint64_t middle = least + (over - least) / 2;
    (fit(middle) ? least : over) = middle;
  }
  return least;
}

}  // namespace

SlotMap::SlotMap(const std::vector<uint64_t>& capacities, Fill fill, uint32_t copies, uint64_t block)
    : copies_(copies), block_(std::max<uint64_t>(block, 1)) {
  if (fill == Fill::rank)
    lay_out_by_rank(capacities);
  else
    lay_out_by_turns(capacities);
}

void SlotMap::lay_out_by_rank(const std::vector<uint64_t>& capacities) {
  slots_ = most(capacities, copies_);
  first_.push_back(0);
  for (const uint64_t capacity : capacities)
    first_.push_back(first_.back() + (copies_ == 1 ? capacity : std::min(capacity, slots_)));
}

void SlotMap::lay_out_by_turns(const std::vector<uint64_t>& capacities) {
  const uint64_t sum = std::accumulate(capacities.begin(), capacities.end(), uint64_t{0});
  while (sum / block_ > kMostBlocks) block_ *= 2;
  std::vector<uint64_t> left;
  for (const uint64_t capacity : capacities) left.push_back(capacity / block_);
  const uint64_t count = most(left, copies_);
  slots_ = count * block_;
  blocks_.reserve(count * copies_);
  std::vector<uint32_t> used(capacities.size(), 0);
  const auto place = [&](uint32_t server) {
    blocks_.push_back({server, used[server]++});
    left[server]--;
  };
  if (copies_ == 1) {
    while (blocks_.size() < count)
      for (uint32_t server = 0; server < left.size(); server++)
        if (left[server] > 0) place(server);
    return;
  }
  // Always those with the most room: nothing that could have had all its places is left over.
  using Entry = std::tuple<uint64_t, uint32_t>;  // room, and the lower rank first
  std::priority_queue<Entry> room;
  const auto enter = [&](uint32_t server) {
    if (left[server] > 0) room.push({left[server], UINT32_MAX - server});
  };
  for (uint32_t server = 0; server < left.size(); server++) enter(server);
  std::vector<uint32_t> chosen(copies_);
  while (blocks_.size() < copies_ * count) {
    for (uint32_t& server : chosen) {
      server = UINT32_MAX - std::get<1>(room.top());
      room.pop();
      place(server);
    }
    for (const uint32_t server : chosen) enter(server);
  }
}

SlotMap::Place SlotMap::find(uint64_t slot, uint32_t copy) const {
  if (!first_.empty()) {
    const uint64_t at = slot + copy * slots_;
    const size_t server =
        static_cast<size_t>(std::upper_bound(first_.begin(), first_.end(), at) - first_.begin()) - 1;
    const uint64_t end = std::min(first_[server + 1], (copy + 1) * slots_);
    return {static_cast<uint32_t>(server), at - first_[server], end - at};
  }
  const Block& b = blocks_[slot / block_ * copies_ + copy];
  const uint64_t within = slot % block_;
  return {b.server, b.block * block_ + within, block_ - within};
}

uint64_t SlotMap::run_limit(uint64_t slot) const {
  uint64_t run = UINT64_MAX;
  for (uint32_t copy = 0; copy < copies_; copy++) run = std::min(run, find(slot, copy).run);
  return run;
}

}  // namespace tasuki::cluster
