#include "pager/pages/budget.h"

namespace tasuki::pager {

Budget::Budget(uint64_t local, uint64_t page_units, ReplacementPolicy policy)
    : local_(local), spare_(std::max<uint64_t>(page_units, std::min<uint64_t>(64, local / 4))) {
  low_ = std::clamp<uint64_t>(local / 32, std::min(spare_, local / 16), 1024);
  high_ = policy == ReplacementPolicy::clock ? std::max(2 * low_, local / 10) : 2 * low_;
  credit_ = high_;
}

uint64_t Budget::capacity(uint64_t slots, Copies copies) const {
  // A copy stays with the store, so there must be room for one of everything: pages without could not leave,
  // and might come to fill the local memory.
  if (copies == Copies::cache) return std::max(local_, slots);
  // What is on its way in or out is in both places for a moment; as long as all is local nothing is on its
  // way. With two pages' worth of room on one side or the other there is always a page that can leave, so
  // that another one can come.
  const uint64_t moving =
      std::min(local_ / 2, std::max(std::max(spare_, high_) + spare_, 2 * largest_page()));
  return std::max(local_, local_ - moving + slots);
}

bool Budget::wants_eviction(uint64_t held, bool evicting, uint64_t more) const {
  more = std::min(more, local_ / 8);
  const uint64_t most_free = local_ + limbo_ + leaving_, free = most_free - std::min(used_, most_free);
  // Of what may leave, at most a half: else what little there is beside kept and pinned pages would leave
  // before it was used.
  const uint64_t most = (local_ - std::min(local_, held)) / 2;
  return free < std::min(credit_ + more, most) && (free < std::min(low_, credit_) + more || evicting);
}

}  // namespace tasuki::pager
