// MPI programs that `tasuki run` meant to be ranks of a job in one address space, and that are not: this is
// said, once per job.
#pragma once

#include "message/shared/shared.h"
#include "task/space.h"

namespace tasuki::shim {

// At the end of MPI_Init. `slot` and `board`: of this task if it has enrolled, else nullptr. Ends the job
// where TASUKI_REQUIRE forbids it to go on.
void look_outside(const task::TaskSlot* slot, message::Board* board);

}  // namespace tasuki::shim
