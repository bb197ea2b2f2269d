// What a simulation reports.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "netsim/machine/machine.h"

namespace tasuki::netsim {

// Durations in buckets of about 9 % width: eight to an octave.
class Histogram {
 public:
  void add(Time t) {
    count_++;
    sum_ += t;
    if (t < least_) least_ = t;
    if (t > most_) most_ = t;
    const uint32_t b = bucket(t);
    if (b >= buckets_.size()) buckets_.resize(b + 1);
    buckets_[b]++;
  }
  void merge(const Histogram& other);
  uint64_t count() const { return count_; }
  Time least() const { return count_ == 0 ? 0 : least_; }
  Time most() const { return most_; }
  double mean() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  // Upper end of the bucket that holds the given share (0..1) of all.
  Time quantile(double share) const;
  const std::vector<uint64_t>& buckets() const { return buckets_; }
  static uint32_t bucket(Time t) {
    if (t < 8) return static_cast<uint32_t>(t);
    const uint32_t octave = 63u - static_cast<uint32_t>(__builtin_clzll(t));
    return (octave - 2) * 8 + static_cast<uint32_t>(t >> (octave - 3) & 7);
  }
  static Time upper_end(uint32_t bucket);

 private:
  uint64_t count_ = 0, sum_ = 0;
  Time least_ = UINT64_MAX, most_ = 0;
  std::vector<uint64_t> buckets_;
};

struct LinkTotals {
  uint64_t packets = 0;
  uint64_t bytes = 0;  // on the wire
  Time busy = 0;
};

struct Results {
  std::string model;
  Time end = 0;  // when the last thing happened
  uint64_t messages = 0, packets = 0;
  uint64_t packet_hops = 0;  // links crossed by packets, ejection not counted
  uint64_t payload_bytes = 0;
  uint64_t events = 0;
  uint64_t hash = 0;  // of every delivery and every link
  uint32_t threads = 1;
  double wall_s = 0;
  Time ideal =
      0;  // the bytes of each class of links over all of its links (for all-to-all on a torus: the paper's
          // T_ideal), or of the busiest node through its NICs: no network of this bandwidth is faster

  std::vector<std::string> classes;
  std::vector<uint32_t> class_links;  // links of each class
  std::vector<LinkTotals> links;      // router * ports + port, as Topology::links
  Time bin_width = 0;
  // [class][bin]: time that links of the class were busy, summed over them.
  std::vector<std::vector<double>> busy;
  // [link][bin], if asked for: share of the bin during which the link was busy, 0..255.
  std::vector<std::vector<uint8_t>> link_busy;
  // [class * channels + channel][bin]: bytes in the input buffers at the ends of these links, average over
  // the bin, summed over links.
  std::vector<std::vector<double>> buffered;
  uint32_t channels = 0;
  std::vector<Histogram> latency;  // of packets by hops: ready at the NIC until all of it is in memory
};

// Results::ideal: of bytes by class of links, and of the busiest node.
Time ideal_time(const Machine& machine, const std::vector<uint32_t>& class_links,
                const std::vector<double>& load, double busiest_node);

}  // namespace tasuki::netsim
