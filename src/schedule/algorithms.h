// Every algorithm, each defined in the file of its name.
#pragma once

#include "schedule/schedule.h"

namespace tasuki::schedule {

extern const Algorithm kBinomial;
extern const Algorithm kChain;
extern const Algorithm kBinaryTree;
extern const Algorithm kTrinaryx3;
extern const Algorithm kA2at;
extern const Algorithm kPairwise;
extern const Algorithm kRing;
extern const Algorithm kBruck;
extern const Algorithm kLinear;
extern const Algorithm kSpread;
extern const Algorithm kRecursiveDoubling;
extern const Algorithm kRingAllreduce;
extern const Algorithm kDissemination;
extern const Algorithm kHalo;

}  // namespace tasuki::schedule
