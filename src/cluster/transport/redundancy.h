// How a page survives the loss of servers: it has a place at each of `copies` servers, and what `needed` of
// them have, whichever, gives the page. Copies of the whole page are the case of one that is needed; of more,
// each has one part of an erasure code (reed_solomon.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tasuki::cluster {

struct Redundancy {
  static constexpr uint32_t kMostNeeded = 8, kMostCopies = 12;

  uint32_t copies = 1, needed = 1;

  bool coded() const { return needed > 1; }
  bool survives_a_loss() const { return copies > needed; }
  // Of a page's `bytes`, what one of its servers has.
  size_t part(size_t bytes) const { return bytes / needed; }
};

// "--replicas 2 needs two lenders, but --lenders names one", for messages.
std::string too_few(Redundancy redundancy, const std::string& servers, const std::string& who, size_t count);

}  // namespace tasuki::cluster
