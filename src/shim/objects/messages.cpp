#include "shim/objects/messages.h"

#include "generated/pmpi.h"
#include "shim/objects/requests.h"

namespace tasuki::shim {

void MessageTable::open(MPI_Comm quiet, bool threads) {
  quiet_ = quiet;
  map_.set_threads(threads);
}

// A message of the library to itself, which is never received by the user. It is made once and used again:
// MPICH over UCX crashes when threads make and receive such messages at once.
MPI_Message MessageTable::handle_for(Envelope* m, CommInfo* comm) {
  MPI_Message handle = MPI_MESSAGE_NULL;
  {
    Locked locked(lock_);
    if (!spare_.empty()) {
      handle = handle_of<MPI_Message>(spare_.back());
      spare_.pop_back();
    } else {
      MPI_Request sent = MPI_REQUEST_NULL;
      pmpi().Isend(nullptr, 0, MPI_BYTE, 0, 0, quiet_, &sent);
      pmpi().Mprobe(0, 0, quiet_, &handle, MPI_STATUS_IGNORE);
      // Waited for at the end only: a library may complete it when the message is received, not before (MPICH
      // does).
      sent_.push_back(key_of(sent));
    }
  }
  CommTable::retain(comm);
  map_.insert(key_of(handle), new Matched{m, comm});
  return handle;
}

Matched MessageTable::take(MPI_Message* message) {
  Matched* entry = map_.erase(key_of(*message));
  const Matched matched = *entry;
  delete entry;
  {
    Locked locked(lock_);
    spare_.push_back(key_of(*message));
  }
  *message = MPI_MESSAGE_NULL;
  return matched;
}

void MessageTable::close() {
  for (uintptr_t key : spare_) {
    MPI_Message message = handle_of<MPI_Message>(key);
    pmpi().Mrecv(nullptr, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  }
  spare_.clear();
  for (uintptr_t key : sent_) {
    MPI_Request sent = handle_of<MPI_Request>(key);
    int done = 0;
    pmpi().Request_get_status(sent, &done, MPI_STATUS_IGNORE);  // not MPI_Test: see free_complete
    if (done != 0)
      free_complete(&sent);
    else
      pmpi().Request_free(&sent);  // the user never received the message that it stands for
  }
  sent_.clear();
}

}  // namespace tasuki::shim
