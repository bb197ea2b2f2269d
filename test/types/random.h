// A small random generator whose numbers are the same everywhere: a case is named by its seed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace types {

class Random {
 public:
  // Seeds that are neighbours must not give sequences that are the same but for a shift.
  explicit Random(uint64_t seed) : state_(seed) { state_ = next() ^ (seed << 32); }

  uint64_t next() {  // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // low..high, both included
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }

  bool chance(int percent) { return between(1, 100) <= percent; }

  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(between(0, static_cast<int64_t>(from.size()) - 1))];
  }

  template <typename T>
  void shuffle(std::vector<T>& list) {
    for (size_t i = list.size(); i > 1; i--)
      std::swap(list[i - 1], list[static_cast<size_t>(between(0, static_cast<int64_t>(i) - 1))]);
  }

 private:
  uint64_t state_;
};

}  // namespace types
