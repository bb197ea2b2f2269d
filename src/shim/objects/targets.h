// Whom and what the arguments of a call address.
#pragma once

#include "shim/objects/comm.h"
#include "shim/objects/datatype.h"
#include "shim/resolved.h"

namespace tasuki::shim {

struct Target {
  CommInfo* comm;
  TypeInfo* type;
  MPI_Datatype handle;
  int slot;  // of the peer, kAnySource
};

inline int32_t tag_in(int tag) {
  return tag == MPI_ANY_TAG ? kAnyTag : tag;
}

class Targets {
 public:
  Targets(CommTable& comms, TypeTable& types) : comms_(comms), types_(types) {}
  void set_tag_upper_bound(int bound) { tag_upper_bound_ = bound; }
  int tag_upper_bound() const { return tag_upper_bound_; }

  // Pass also where the peer is elsewhere.
  Resolved<Target> to(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
  Resolved<Target> from(const void* buf, MPI_Count count, MPI_Datatype type, int source, int tag,
                        MPI_Comm comm);
  // A buffer of a collective call, on a communicator of whatever kind: a target without one.
  Resolved<Target> memory(const void* buf, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
  // The same without a peer: a buffer, for whomever.
  Resolved<Target> buffer(const void* buf, MPI_Count count, MPI_Datatype type, int tag, MPI_Comm comm);

 private:
  Resolved<Target> resolve(CommInfo* c, const void* buf, MPI_Count count, MPI_Datatype type, int slot,
                           MPI_Comm comm);

  CommTable& comms_;
  TypeTable& types_;
  int tag_upper_bound_ = 0;
};

}  // namespace tasuki::shim
