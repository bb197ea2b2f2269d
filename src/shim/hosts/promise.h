// TASUKI_EVERYWHERE=on where the launcher hands on no keys (keys.h): how MPI_Init finds out whether all ranks
// keep the promise that the user makes with it.
//
// No message may be spent on the question: a rank without Tasuki would take it, or a collective operation of
// the shim's, for one of its program's own. So ranks answer by names in the launcher's name service
// (MPI_Publish_name): whoever says nothing there takes part in nothing.
#pragma once

#include "message/shared/shared.h"

namespace tasuki::shim {

// Called at the end of MPI_Init by every rank that has made the promise; `mine`: this one can take part in
// what needs it. There is more than one space. True if all can. Ends the job, with a line that says why,
// if some rank did not confirm the promise in time.
// `board` is nullptr, and so are the slots (CommTable::world_slots()), where this rank shares no memory.
bool everyone_confirms(bool mine, message::Board* board, const int* slot_of_world_rank);

}  // namespace tasuki::shim
