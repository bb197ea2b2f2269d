// The parts of a page that several servers keep: the first `needed` of them are the page itself, cut in
// pieces, and the others are computed from these, so that any `needed` of all give each of them (a
// Reed-Solomon code over bytes with a Cauchy matrix: Blomer et al., "An XOR-based erasure-resilient coding
// scheme", ICSI 1995). The arithmetic is that of Intel's ISA-L, which is loaded when it is needed.
//
// Thread-safe. Allocates nothing after load().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "cluster/transport/redundancy.h"

namespace tasuki::cluster {

class ReedSolomon {
 public:
  using Parts = std::array<uint8_t, Redundancy::kMostNeeded>;

  // ENOENT: ISA-L is not installed; the text says what to do.
  static Result<std::unique_ptr<ReedSolomon>> load(Redundancy redundancy);
  // nullptr: these are copies.
  static Result<std::unique_ptr<ReedSolomon>> load_for(Redundancy redundancy) {
    if (!redundancy.coded()) return std::unique_ptr<ReedSolomon>();
    return load(redundancy);
  }

  uint32_t needed() const { return needed_; }
  uint32_t parts() const { return parts_; }

  // From the first parts, of `bytes` each, the others: to[0] becomes part needed().
  void encode(size_t bytes, const std::byte* const* from, std::byte* const* to) const;
  // One part from as many others as are needed: from[i] is part have[i].
  void compute(uint32_t part, size_t bytes, const Parts& have, const std::byte* const* from,
               std::byte* to) const;

 private:
  static constexpr size_t kTableBytes = 32;  // for each coefficient, as ISA-L wants it
  using MakeTables = void (*)(int, int, unsigned char*, unsigned char*);
  using Encode = void (*)(int, int, int, unsigned char*, unsigned char**, unsigned char**);
  using Invert = int (*)(unsigned char*, unsigned char*, int);
  using Multiply = unsigned char (*)(unsigned char, unsigned char);

  explicit ReedSolomon(Redundancy redundancy) : needed_(redundancy.needed), parts_(redundancy.copies) {}

  uint32_t needed_, parts_;
  MakeTables make_tables_ = nullptr;
  Encode encode_ = nullptr;
  Invert invert_ = nullptr;
  Multiply multiply_ = nullptr;
  // Row i says how part i is made of the first `needed` parts.
  unsigned char rows_[Redundancy::kMostCopies * Redundancy::kMostNeeded];
  unsigned char tables_[Redundancy::kMostCopies * Redundancy::kMostNeeded * kTableBytes];
};

}  // namespace tasuki::cluster
