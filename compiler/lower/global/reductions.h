// Variables of reductions and broadcasts:
//
//     reduction(+:s)          tasuki_xmp_reduction(0, &(..){&s, 1, sizeof s, TASUKI_XMP_DOUBLE, 0}, ..);
//     bcast (v)               tasuki_xmp_bcast(1, (..[]){{&v, 1, sizeof v, 0, 0}}, ..);
//
// and of loops, whose variable begins with the operation's identity on each node and is joined with its old
// value afterwards.
#pragma once

#include <string>
#include <vector>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

// An initialiser of struct __tasuki_xmp_variable; empty after an error. `reduced`: its type must be one that
// can be.
std::string variable_of(const Unit& in, const TokenRange& range, bool reduced);

// The number of an operation of tasuki_xmp_reduction.
int operation_of(const Reduction& reduction);

// Before and behind a loop. `space`: the record of what its iterations are divided over; `dimensions`: of it,
// as bits. `taken`, of firstmax and kin, unless `positions` is 0: what is evaluated behind each iteration. If
// `changed` is true, the variable took its value in it, and `keep` keeps that and the locations; the
// `positions` elements of the array `position` are to say then which iteration it was.
struct LoopReduction {
  struct Taken {
    std::string changed, keep, position;
  };
  std::string before, behind;
  std::vector<Taken> taken = {};
};
LoopReduction reduce_loop(const Unit& in, const LoopDirective& loop, const std::string& space,
                          unsigned dimensions, size_t positions);

}  // namespace tasuki::cc
