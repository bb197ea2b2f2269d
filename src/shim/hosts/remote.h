// Typed messages on communicators that the MPI library handles: between hosts.
//
// The library still sends and receives; what changes is who packs. MPI lets what is sent as MPI_PACKED be
// received with any type of the same signature, and what is sent with any type be received as MPI_PACKED
// (MPI-4.0, 4.2). So each side decides for itself, message by message: the peer may decide otherwise, and
// need not run Tasuki at all. The same licence forbids to cut a message into several. What is received packed
// lands in a block of memory as objects/landing.h says.
//
// Cost for what is not handled here (dense types, small messages, MPI_PROC_NULL): two look-ups and compares.
#pragma once

#include "shim/delegates.h"
#include "shim/objects/requests.h"

namespace tasuki::shim {

enum class RemotePolicy : int { on, always, off };  // the order of TASUKI_REMOTE's choices

class Remote final : public Carrier {
 public:
  Remote(Engine& engine, CommTable& comms, TypeTable& types, Requests& requests)
      : engine_(engine), comms_(comms), types_(types), requests_(requests) {
    requests.set_carrier(this);
  }
  void open(RemotePolicy policy) { policy_ = policy; }
  // Packed and unpacked so far.
  uint64_t bytes() const { return bytes_; }

  // The calls of delegates.h, for everything that is not Tasuki's own.
  int send(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
           SendMode mode, Pass pass);
  int recv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
           MPI_Status* status, Pass pass);
  int sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
               MPI_Comm comm, MPI_Status* status, Pass pass);
  int isend(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
            MPI_Request* request, SendMode mode, Pass pass);
  int irecv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
            MPI_Request* request, Pass pass);
  int send_init(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                MPI_Request* request, SendMode mode, Pass pass);
  int recv_init(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                MPI_Request* request, Pass pass);
  // Of messages that the library has matched.
  int mrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status,
            Pass pass);
  int imrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request,
             Pass pass);

  // For the library's side of receives from any source.
  char* packed_for(const layout::Region& region) override;
  int unpack(Request* r, const MPI_Status& status) override;

  // ---- carried requests. The library completes its own request, and raises errors as it would for the
  // user's.

  // The library has completed the request with this status and error code: unpacks, and discards it unless it
  // is persistent. Returns the code, or that of an error of its own, raised.
  int arrive(Request* r, const MPI_Status& status, int code);
  // MPI_Wait and MPI_Test: `r` is gone if *flag says so and it is not persistent. They return the library's
  // code.
  int wait(Request* r, MPI_Status* status);
  int test(Request* r, int* flag, MPI_Status* status) override;
  // MPI_Request_get_status. What it calls complete the user may read.
  int get_status(Request* r, int* flag, MPI_Status* status);
  int cancel(Request* r);
  // MPI_Start, and MPI_Request_free of one that is not active.
  int start(Request* r);
  int free(Request* r);

 private:
  enum class Direction { send, receive };
  class Packed;

  static bool pays(Direction direction, const layout::Region& r);
  void move(const layout::Region& to, const layout::Region& from, uint64_t bytes);
  int carry(Packed& p, Request* r, MPI_Request library, int rc, MPI_Request* request);
  char* room_for(Direction direction, const layout::Region& r) const;
  template <typename Receive>
  static int receive(const Packed& p, MPI_Comm comm, MPI_Status* status, Receive receive);
  enum class Life { once, persistent };
  template <typename Begin>
  int start_send(Packed& p, MPI_Request* request, Pass pass, Life life, Begin begin);
  template <typename Begin>
  int start_receive(Packed& p, MPI_Request* request, Pass pass, Life life, Begin begin);

  Engine& engine_;
  CommTable& comms_;
  TypeTable& types_;
  Requests& requests_;
  RemotePolicy policy_ = RemotePolicy::off;
  uint64_t bytes_ = 0;
};

}  // namespace tasuki::shim
