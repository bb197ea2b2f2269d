// Whether measured constants of the cost model can be believed.
#pragma once

#include "message/cost/cost.h"

namespace tasuki::message {

// Why these constants, as the formulas of `tasuki tune` gave them, cannot be what was to be measured: another
// program had the cores meanwhile. nullptr if nothing speaks against them; a little below zero is zero, which
// a cheap page can cost.
const char* spoiled(const Costs& measured);

}  // namespace tasuki::message
