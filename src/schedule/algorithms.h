// Every algorithm, each defined in the file of its name.
#pragma once

#include "schedule/schedule.h"

namespace tasuki::schedule {

extern const Algorithm kBinomial;
extern const Algorithm kChain;
extern const Algorithm kBinaryTree;
extern const Algorithm kTrinaryx3;

}  // namespace tasuki::schedule
