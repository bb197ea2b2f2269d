// Typed messages on communicators that the MPI library handles: between hosts.
//
// The library still sends and receives; what changes is who packs. MPI lets what is sent as MPI_PACKED be
// received with any type of the same signature, and what is sent with any type be received as MPI_PACKED
// (MPI-4.0, 4.2). So each side decides for itself, message by message: the peer may decide otherwise, and
// need not run Tasuki at all. The same licence forbids to cut a message into several.
//
// Cost for what is not handled here (dense types, small messages, MPI_PROC_NULL): two look-ups and compares.
#pragma once

#include "shim/objects/requests.h"

namespace tasuki::shim::remote {

enum class Direction { send, receive };

// The user's typed buffer of one call, and the packed bytes that stand for it.
class Packed {
 public:
  // `peer` is the rank that the call names. After it either used() holds, or the library does better with the
  // user's own arguments, or error() is a code to return, raised already.
  Packed(Direction direction, const void* buf, MPI_Count count, MPI_Datatype type, int peer, MPI_Comm comm);
  ~Packed() { give_back(); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  // What the MPI function returns: library(), the code of the error, or use() where the packed bytes are used.
  template <typename Library, typename Use>
  int answer(Library&& library, Use&& use) const {
    if (error_ != MPI_SUCCESS) return error_;
    return used() ? use() : library();
  }
  bool used() const { return data_ != nullptr; }
  int error() const { return error_; }
  void* data() const { return data_; }
  int bytes() const { return static_cast<int>(bytes_); }

  void pack() const;
  // Unpacks what came, which may be less than was asked for.
  void unpack(const MPI_Status& status) const;
  // The request takes everything over and gives it back when it is discarded.
  void move_to(Request* r);

 private:
  void use(Direction direction, const void* buf, MPI_Count count, TypeInfo* t);
  void give_back();

  TypeInfo* type_ = nullptr;
  layout::Region region_{};
  uint64_t bytes_ = 0;
  char* data_ = nullptr;
  int error_ = MPI_SUCCESS;
};

// The calls of delegates.h, for everything that is not Tasuki's own.
int send(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, SendMode mode,
         Pass pass);
int recv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
         MPI_Status* status, Pass pass);
int sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
             MPI_Comm comm, MPI_Status* status, Pass pass);

int isend(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
          MPI_Request* request, SendMode mode, Pass pass);
int irecv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
          MPI_Request* request, Pass pass);

// ---- carried requests. The library completes its own request, and raises errors as it would for the user's.

// The library has completed the request with this status and error code: unpacks and discards.
void arrive(Request* r, const MPI_Status& status, int code);
// MPI_Wait and MPI_Test: `r` is gone if *flag says so. They return the library's code.
int wait(Request* r, MPI_Status* status);
int test(Request* r, int* flag, MPI_Status* status);
// MPI_Request_get_status. What it calls complete the user may read.
int get_status(Request* r, int* flag, MPI_Status* status);
int cancel(Request* r);

// Memory for packed bytes, kept for the next message; nullptr: no memory.
char* take_block(uint64_t bytes);
void give_block(char* packed);

}  // namespace tasuki::shim::remote
