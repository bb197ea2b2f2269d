// Sums over time in a fixed number of bins. The bins start narrow; when a run outgrows them, neighbours are
// joined and each is twice as wide. Whole numbers only, so that parts add up to the same whatever their
// order.
#pragma once

#include <cstdint>
#include <vector>

#include "netsim/engine/wheel.h"

namespace tasuki::netsim {

class Recorder {
 public:
  Recorder(size_t rows, uint32_t bins) : rows_(rows), bins_(bins), sums_(rows * bins) {}

  // Adds weight * (part of [from, to) in a bin) to each bin that it touches.
  void add(size_t row, Tick from, Tick to, uint64_t weight) {
    while ((to - 1) >> shift_ >= bins_) join();
    uint64_t* sums = &sums_[row * bins_];
    const Tick first = from >> shift_, last = (to - 1) >> shift_;
    if (first == last) {
      sums[first] += weight * (to - from);
      return;
    }
    for (Tick bin = first; bin <= last; bin++) {
      const Tick begin = bin << shift_, end = (bin + 1) << shift_;
      sums[bin] += weight * ((to < end ? to : end) - (from > begin ? from : begin));
    }
  }

  // Joins bins until they are as wide as the other's, then adds up.
  void merge(Recorder& other) {
    while (shift_ < other.shift_) join();
    while (other.shift_ < shift_) other.join();
    for (size_t i = 0; i < sums_.size(); i++) sums_[i] += other.sums_[i];
  }
  void widen_to(uint32_t shift) {
    while (shift_ < shift) join();
  }

  uint32_t shift() const { return shift_; }
  uint32_t bins() const { return bins_; }
  size_t rows() const { return rows_; }
  // The first bins of every row, scaled.
  std::vector<std::vector<double>> rows_of(size_t bins, double scale) const {
    std::vector<std::vector<double>> out(rows_, std::vector<double>(bins));
    for (size_t row = 0; row < rows_; row++)
      for (size_t b = 0; b < bins; b++) out[row][b] = static_cast<double>(at(row, b)) * scale;
    return out;
  }
  uint64_t at(size_t row, size_t bin) const { return sums_[row * bins_ + bin]; }

 private:
  void join() {
    for (size_t row = 0; row < rows_; row++) {
      uint64_t* sums = &sums_[row * bins_];
      for (size_t i = 0; i < bins_; i++)
        sums[i] = 2 * i + 1 < bins_ ? sums[2 * i] + sums[2 * i + 1] : (2 * i < bins_ ? sums[2 * i] : 0);
    }
    shift_++;
  }

  size_t rows_;
  uint32_t bins_, shift_ = 6;
  std::vector<uint64_t> sums_;
};

}  // namespace tasuki::netsim
