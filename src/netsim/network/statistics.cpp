#include "netsim/network/statistics.h"

#include <algorithm>
#include <cmath>

namespace tasuki::netsim {

void Histogram::merge(const Histogram& other) {
  count_ += other.count_;
  sum_ += other.sum_;
  least_ = std::min(least_, other.least_);
  most_ = std::max(most_, other.most_);
  if (buckets_.size() < other.buckets_.size()) buckets_.resize(other.buckets_.size());
  for (size_t i = 0; i < other.buckets_.size(); i++) buckets_[i] += other.buckets_[i];
}

Time Histogram::upper_end(uint32_t bucket) {
  if (bucket < 8) return bucket;
  const uint32_t octave = bucket / 8 + 2;
  return ((Time{8} + bucket % 8 + 1) << (octave - 3)) - 1;
}

Time Histogram::quantile(double share) const {
  const double wanted = share * static_cast<double>(count_);
  uint64_t seen = 0;
  for (uint32_t b = 0; b < buckets_.size(); b++) {
    seen += buckets_[b];
    if (static_cast<double>(seen) >= wanted && seen > 0) return std::min(upper_end(b), most_);
  }
  return most_;
}

Time ideal_time(const Machine& machine, const std::vector<uint32_t>& class_links,
                const std::vector<double>& load, double busiest_node) {
  double ideal = busiest_node / (machine.nics * std::min(machine.link_bandwidth, machine.dma_bandwidth));
  for (size_t c = 0; c < load.size(); c++)
    if (class_links[c] != 0) ideal = std::max(ideal, load[c] / (class_links[c] * machine.link_bandwidth));
  return static_cast<Time>(std::llround(ideal * 1e12));
}

}  // namespace tasuki::netsim
