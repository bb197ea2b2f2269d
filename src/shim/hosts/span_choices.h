// Which algorithms of src/schedule carry out operations between hosts, by the user's settings or by Tasuki's
// own choice. The settings of rank 0 hold for the job: launchers do not hand on all variables.
#pragma once

#include "schedule/algorithms.h"

namespace tasuki::shim {

// In the order of the settings' choices; the first stands for Tasuki's own.
inline constexpr const schedule::Algorithm* kBroadcasts[] = {nullptr, &schedule::kBinomial, &schedule::kChain,
                                                             &schedule::kBinaryTree, &schedule::kTrinaryx3};
inline constexpr const schedule::Algorithm* kAlltoalls[] = {
    nullptr,          &schedule::kSpread,   &schedule::kLinear,
    &schedule::kRing, &schedule::kPairwise, &schedule::kA2at};

struct SpanChoices {
  int broadcast;      // of kBroadcasts
  int alltoall;       // of kAlltoalls
  uint64_t segment;   // bytes of a pipelined message, and of the messages of an exchange; 0: as above
  uint64_t pace;      // bytes a second that a rank gives to other hosts in an exchange; 0: as they come
  uint32_t shape[4];  // of the torus that hosts (broadcast) or ranks (all-to-all) fill
  uint32_t dimensions;
};

// This process's settings.
SpanChoices read_choices();

// The schedule of an algorithm that the user has chosen, which the caller deletes. nullptr: it is not for so
// many ranks, or not on his shape; `tells`: this rank says so, or which it is.
const schedule::Schedule* chosen_schedule(const SpanChoices& choices, const schedule::Algorithm& algorithm,
                                          schedule::Parameters parameters, bool tells);

}  // namespace tasuki::shim
