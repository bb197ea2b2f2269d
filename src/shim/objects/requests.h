// Operations as the MPI functions see them: arguments checked and resolved, requests with their MPI handles,
// results turned into statuses and error codes.
#pragma once

#include <mpi.h>

#include <new>
#include <type_traits>

#include "shim/process.h"
#include "shim/resolved.h"

namespace tasuki::shim {

// What the shim keeps with a request, in the slot that the message layer leaves to it.
struct OwnerPart {
  CommInfo* comm;       // retained while in use
  TypeInfo* type;       // retained while in use
  char* scratch;        // malloc'ed packed bytes that stand for the user's buffer; nullptr: none
  char* user_buffer;    // undecodable type: the user's buffer,
  uint64_t user_count;  //   its elements,
  uintptr_t user_type;  //   and a duplicate of its MPI_Datatype
  int32_t start_rank;   // persistent: destination or source as the user gave it
  int32_t start_tag;
  uint8_t persistent;
  uint8_t started;      // persistent: between start and completion
  uint8_t detached;     // freed by the user while active: recycled when done
  SendMode mode;        // of a persistent send
  uintptr_t library;    // carried: the library's MPI_Request,
  char* packed;         //   the packed bytes that it sends or receives,
  uint8_t unpacks;      //   and whether they are still to be unpacked
  uint8_t from_nobody;  // a send whose status tells of a receive from MPI_PROC_NULL (MPI_Isendrecv)
};
static_assert(sizeof(OwnerPart) <= Request::kOwnersBytes && std::is_trivial_v<OwnerPart>);

inline OwnerPart& mine(Request* r) {
  return *std::launder(reinterpret_cast<OwnerPart*>(r->owners));
}
inline const OwnerPart& mine(const Request* r) {
  return *std::launder(reinterpret_cast<const OwnerPart*>(r->owners));
}

// Whom and what a call addresses.
struct Target {
  CommInfo* comm;
  TypeInfo* type;
  MPI_Datatype handle;
  int slot;  // of the peer, kAnySource
};

Resolved<Target> send_target(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag,
                             MPI_Comm comm);
Resolved<Target> receive_target(const void* buf, MPI_Count count, MPI_Datatype type, int source, int tag,
                                MPI_Comm comm);

inline int32_t tag_in(int tag) {
  return tag == MPI_ANY_TAG ? kAnyTag : tag;
}

// The region of a user's buffer. Dense types become plain bytes, so that the copy engine takes its shortest
// path.
layout::Region region_of(const void* buf, MPI_Count count, const TypeInfo* t);

// Whether a request retains communicator and type, which the user may free while it is in progress. A
// blocking call's need not: that saves four locked instructions of an 8-byte message's 0.15 us.
enum class Hold : bool { no, yes };

// A request filled in for a send or a receive; nullptr when memory is exhausted.
Request* make_send(const Target& t, const void* buf, MPI_Count count, int tag);
Request* make_receive(const Target& t, void* buf, MPI_Count count, int tag, Hold hold = Hold::yes);

// Starts what make_send made. Returns an MPI error code, raised; the request is then given back.
int launch_send(Request* r, SendMode mode);

// Takes a completed operation's result: status (may be MPI_STATUS_IGNORE), unpacking of undecodable types.
// Returns its error code, not raised; `raised_on` is where the caller will, if at all. The request goes back to
// the pool, unless it is persistent.
int finish(Request* r, MPI_Status* status);
int finish(Request* r, MPI_Status* status, MPI_Comm raised_on);
// The same result without any effect on the request (MPI_Request_get_status).
int peek(Request* r, MPI_Status* status);
void discard(Request* r);

// A request of the library that this layer completes.
MPI_Request generalized_request();

// Frees a complete request of the library without making the library progress.
void free_complete(MPI_Request* request);

// The valid MPI_Request that stands for a request: a complete generalized request of the library, made once
// and used again.
MPI_Request handle_for(Request* r);
inline Request* own(MPI_Request handle) {
  return g_process.requests.find(key_of(handle));
}
inline bool is_inactive(const Request* r) {
  return mine(r).persistent != 0 && mine(r).started == 0;
}

// Requests that the user freed while they were active.
void detach(Request* r);
void reap_detached();
// At the end: the library completes in MPI_Finalize what it still carries; its bytes stay.
void leave_detached();

void free_placeholders();

// Persistent operations.
int launch_persistent(Request* r);

}  // namespace tasuki::shim
