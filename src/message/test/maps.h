// Operations for reductions that show in what order, or grouping, they were applied, and rows of elements.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "message/collectives/reduction.h"

namespace tasuki::message {

// Maps x -> a x + b modulo a prime, one after the other: associative, and not commutative.
struct Map {
  uint32_t a, b;
  bool operator==(const Map&) const = default;
};
inline constexpr uint64_t kPrime = 65521;

inline Map then(const Map& first, const Map& second) {
  return {static_cast<uint32_t>(uint64_t{first.a} * second.a % kPrime),
          static_cast<uint32_t>((uint64_t{second.a} * first.b + second.b) % kPrime)};
}

inline void combine_maps(const void*, const char* left, char* right, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    Map l, r;
    memcpy(&l, left + i * sizeof l, sizeof l);
    memcpy(&r, right + i * sizeof r, sizeof r);
    r = then(l, r);
    memcpy(right + i * sizeof r, &r, sizeof r);
  }
}

inline constexpr Combination kMaps{sizeof(Map), &combine_maps, nullptr};

// Sums, which depend on their grouping.
template <typename Number>
void add_numbers(const void*, const char* left, char* right, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    Number l, r;
    memcpy(&l, left + i * sizeof l, sizeof l);
    memcpy(&r, right + i * sizeof r, sizeof r);
    r = l + r;
    memcpy(right + i * sizeof r, &r, sizeof r);
  }
}
inline constexpr Combination kSumsOfDoubles{sizeof(double), &add_numbers<double>, nullptr};

using Row = std::vector<Map>;

inline Row row_of(int rank, int round, uint64_t elements) {
  std::mt19937 random(static_cast<unsigned>(rank * 1000 + round));
  Row row(elements);
  for (Map& m : row)
    m = {static_cast<uint32_t>(random() % 65520 + 1), static_cast<uint32_t>(random() % 65521)};
  return row;
}

// What ranks [0, ranks) have together.
inline Row result(int ranks, int round, uint64_t elements) {
  Row all = row_of(0, round, elements);
  for (int r = 1; r < ranks; r++) {
    const Row next = row_of(r, round, elements);
    for (uint64_t i = 0; i < elements; i++) all[i] = then(all[i], next[i]);
  }
  return all;
}

inline char* bytes_of(Row& r) {
  return reinterpret_cast<char*>(r.data());
}

}  // namespace tasuki::message
