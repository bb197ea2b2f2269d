// Messages that a matched probe has taken out of their queue, and the MPI_Messages that stand for them.
#pragma once

#include <mpi.h>

#include <vector>

#include "shim/objects/comm.h"
#include "shim/objects/handle_map.h"

namespace tasuki::shim {

struct Matched {
  Envelope* envelope;
  CommInfo* comm;  // retained
};

class MessageTable {
 public:
  // `quiet`: a communicator of this process alone, for what the user must not notice.
  void open(MPI_Comm quiet, bool threads);
  void close();

  // The valid MPI_Message that stands for a message.
  MPI_Message handle_for(Envelope* m, CommInfo* comm);
  // nullptr: not one of ours.
  Matched* find(const MPI_Message* message) {
    return message == nullptr ? nullptr : map_.find(key_of(*message));
  }
  // Takes our message from its handle, which becomes MPI_MESSAGE_NULL.
  Matched take(MPI_Message* message);

 private:
  HandleMap<Matched> map_;
  MPI_Comm quiet_{};
  SpinLock lock_;                 // spare_, sent_
  std::vector<uintptr_t> spare_;  // MPI_Messages of the library that stand for none of ours now
  std::vector<uintptr_t> sent_;   // the MPI_Requests that sent them
};

}  // namespace tasuki::shim
