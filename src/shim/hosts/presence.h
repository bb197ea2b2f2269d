// Which ranks of the job run Tasuki: found out, not promised.
//
// Every rank with the shim leaves a key with the launcher before MPI_Init (keys.h), and the first rank of
// each space reads all keys after it. Only where every rank has left one do the ranks confirm by a collective
// operation that all can take part and have the same version: then nobody is left whose program could take
// this for its own communication.
#pragma once

#include "message/shared/shared.h"
#include "shim/hosts/keys.h"

namespace tasuki::shim {

class Presence {
 public:
  // Before MPI_Init, in every process that has the shim.
  void announce();

  // At the end of MPI_Init: can all ranks of the job take part in what needs all, and is there more than one
  // space? `mine`: this rank can. `board` is nullptr, and so are the slots (CommTable::world_slots()), where
  // this rank shares no memory. With TASUKI_EVERYWHERE=on the job ends, with a line that names the rank, if
  // one does not run Tasuki.
  bool everyone_takes_part(bool mine, message::Board* board, const int* slot_of_world_rank);

 private:
  bool everyone_is_here(message::Board* board, int rank, int size);
  int first_missing(int size);

  Keys keys_;
  bool announced_ = false;
};

}  // namespace tasuki::shim
