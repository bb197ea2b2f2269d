// The packet model: what a partition has seen.
#include <algorithm>

#include "netsim/engine/partition.h"

namespace tasuki::netsim {

void Partition::report(Results* r) const {
  r->end = std::max(r->end, now_);
  r->messages += messages_;
  r->packets += packets_seen_;
  r->packet_hops += packet_hops_;
  r->payload_bytes += payload_;
  r->events += events_;
  r->hash += hash_;
  std::copy(link_totals_.begin(), link_totals_.end(),
            r->links.begin() + static_cast<ptrdiff_t>(size_t{first_} * ports_));
  if (r->latency.size() < latency_.size()) r->latency.resize(latency_.size());
  for (size_t h = 0; h < latency_.size(); h++) r->latency[h].merge(latency_[h]);
}

std::string Partition::waiting_channels() const {
  std::string text;
  constexpr int kShown = 4;
  int shown = 0;
  for (uint32_t router = first_; router < end_; router++)
    for (uint32_t input = 0; input < inputs_of_; input++) {
      const Input& in = inputs_[input_at(router, input)];
      if (in.head == kNone) continue;
      if (shown++ == kShown) return text + " ...";
      const Packet& p = packets_[in.head];
      text += " [router " + std::to_string(router) + " input " + std::to_string(input) +
              " waits for output " + std::to_string(p.output) + " channel " + std::to_string(p.channel) + "]";
    }
  return text;
}

bool Partition::is_empty() const {
  for (const uint32_t credit : credits_)
    if (credit != machine_.buffer_bytes) return false;
  return std::all_of(inputs_.begin(), inputs_.end(), [](const Input& in) { return in.head == kNone; });
}

}  // namespace tasuki::netsim
