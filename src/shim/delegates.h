// Delegates: where a generated entry point hands a call over. `pass` gives the library's own answer to
// exactly the same call; a delegate uses it for everything that Tasuki does not handle, invalid arguments
// included (so that error texts, classes and handlers are the library's own).
//
// Every delegate returns an MPI error code as the MPI function would. Counts are MPI_Count so that the
// large-count functions (MPI-4, suffix _c) share the delegate with the classic ones.
#pragma once

#include <mpi.h>

#include <type_traits>

#include "base/send_mode.h"

namespace tasuki::shim {

// A reference to a callable int(); valid during the call only. Costs two words and one indirect call.
class Pass {
 public:
  template <typename F>
  Pass(F& f)  // NOLINT: implicit on purpose
      : object_(&f), call_([](void* o) { return (*static_cast<F*>(o))(); }) {}
  int operator()() const { return call_(object_); }

 private:
  void* object_;
  int (*call_)(void*);
};

// True between MPI_Init and MPI_Finalize when this process is a task that shares its memory and TASUKI is on:
// the switch at the head of every entry point. When it is false the entry point passes at once.
extern bool g_on;
inline bool on() {
  return __builtin_expect(g_on, 1);
}

// At the program's first call: its MPI library is none that this shim is for, and no delegate will be called.
// `standard`: it has the MPI-5 standard ABI; else it is of the other family.
void found_other_library(bool standard);

// When a collective call returns: with the operation done, or at once, with a request for it, which is
// persistent (MPI-4.0, 6.13) or not.
struct When {
  bool later;
  MPI_Request* request;
  bool persistent = false;
};
inline constexpr When kNow{false, nullptr};
inline When later(MPI_Request* request) {
  return {true, request};
}
inline When persistent(MPI_Request* request) {
  return {true, request, true};
}

namespace delegate {

// ---- environment (called regardless of on())
int init(Pass pass);      // MPI_Init, MPI_Init_thread
int finalize(Pass pass);  // MPI_Finalize

// ---- blocking point-to-point
int send(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, SendMode mode,
         Pass pass);
int recv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
         MPI_Status* status, Pass pass);
int sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
             MPI_Comm comm, MPI_Status* status, Pass pass);
int sendrecv_replace(void* buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                     int recvtag, MPI_Comm comm, MPI_Status* status, Pass pass);

// ---- non-blocking and persistent
int isend(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
          MPI_Request* request, SendMode mode, Pass pass);
int irecv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
          MPI_Request* request, Pass pass);
int isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
              MPI_Comm comm, MPI_Request* request, Pass pass);
int isendrecv_replace(void* buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                      int recvtag, MPI_Comm comm, MPI_Request* request, Pass pass);
int send_init(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request, SendMode mode, Pass pass);
int recv_init(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request, Pass pass);
int start(MPI_Request* request, Pass pass);
int startall(int count, MPI_Request requests[], Pass pass);

// ---- partitioned
int psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype type, int dest, int tag,
               MPI_Comm comm, MPI_Request* request, Pass pass);
int precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag,
               MPI_Comm comm, MPI_Request* request, Pass pass);
int pready(int partition, MPI_Request request, Pass pass);
int pready_range(int low, int high, MPI_Request request, Pass pass);
int pready_list(int length, const int partitions[], MPI_Request request, Pass pass);
int parrived(MPI_Request request, int partition, int* flag, Pass pass);

// ---- probing
int probe(int source, int tag, MPI_Comm comm, MPI_Status* status, Pass pass);
int iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status, Pass pass);
int mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status, Pass pass);
int improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status,
            Pass pass);
int mrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status, Pass pass);
int imrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request,
           Pass pass);

// ---- completion
int wait(MPI_Request* request, MPI_Status* status, Pass pass);
int waitall(int count, MPI_Request requests[], MPI_Status statuses[], Pass pass);
int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status, Pass pass);
int waitsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[],
             Pass pass);
int test(MPI_Request* request, int* flag, MPI_Status* status, Pass pass);
int testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[], Pass pass);
int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status, Pass pass);
int testsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[],
             Pass pass);
int request_free(MPI_Request* request, Pass pass);
int request_get_status(MPI_Request request, int* flag, MPI_Status* status, Pass pass);
int request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[],
                           Pass pass);
int request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status,
                           Pass pass);
int request_get_status_some(int incount, const MPI_Request requests[], int* outcount, int indices[],
                            MPI_Status statuses[], Pass pass);
int cancel(MPI_Request* request, Pass pass);

// ---- buffered mode
int buffer_attach(void* buffer, MPI_Count bytes, Pass pass);
int buffer_detach(void* buffer_address, void* bytes_address, bool large,
                  Pass pass);  // *bytes: int, MPI_Count if large
int buffer_flush(Pass pass);   // of the process or of a communicator, also MPI_Buffer_iflush
int comm_attach_buffer(MPI_Comm comm, void* buffer, MPI_Count bytes, Pass pass);
int comm_detach_buffer(MPI_Comm comm, Pass pass);

// ---- collectives
int barrier(MPI_Comm comm, When when, Pass pass);
int bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, When when, Pass pass);
// Arrays of counts and displacements: of int, or, if `large`, of MPI_Count and MPI_Aint.
int allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
              MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass);
int allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype, MPI_Comm comm,
               When when, Pass pass);
int alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass);
int alltoallv(const void* sendbuf, const void* sendcounts, const void* sdispls, MPI_Datatype sendtype,
              void* recvbuf, const void* recvcounts, const void* rdispls, bool large, MPI_Datatype recvtype,
              MPI_Comm comm, When when, Pass pass);
int alltoallw(const void* sendbuf, const void* sendcounts, const void* sdispls,
              const MPI_Datatype sendtypes[], void* recvbuf, const void* recvcounts, const void* rdispls,
              bool large, const MPI_Datatype recvtypes[], MPI_Comm comm, When when, Pass pass);
int neighbor_allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass);
int neighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype,
                        MPI_Comm comm, When when, Pass pass);
int neighbor_alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass);
int neighbor_alltoallv(const void* sendbuf, const void* sendcounts, const void* sdispls,
                       MPI_Datatype sendtype, void* recvbuf, const void* recvcounts, const void* rdispls,
                       bool large, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass);
int neighbor_alltoallw(const void* sendbuf, const void* sendcounts, const MPI_Aint sdispls[],
                       const MPI_Datatype sendtypes[], void* recvbuf, const void* recvcounts,
                       const MPI_Aint rdispls[], bool large, const MPI_Datatype recvtypes[], MPI_Comm comm,
                       When when, Pass pass);
int gather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
           MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, When when, Pass pass);
int gatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype, int root,
            MPI_Comm comm, When when, Pass pass);
int scatter(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, When when, Pass pass);
int scatterv(const void* sendbuf, const void* sendcounts, const void* displs, bool large,
             MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
             MPI_Comm comm, When when, Pass pass);
int allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, When when, Pass pass);
int reduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, When when, Pass pass);
int reduce_scatter(const void* sendbuf, void* recvbuf, const void* recvcounts, bool large, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, When when, Pass pass);
int reduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm, When when, Pass pass);
int scan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
         When when, Pass pass);
int exscan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
           When when, Pass pass);

// ---- one-sided communication
int win_create(void* base, MPI_Aint displacement_unit, MPI_Comm comm, const MPI_Win* win, Pass pass);
int win_allocate(const void* base_address, MPI_Aint displacement_unit, MPI_Comm comm, const MPI_Win* win,
                 Pass pass);  // also MPI_Win_allocate_shared
int win_create_dynamic(MPI_Comm comm, const MPI_Win* win, Pass pass);
int win_free(const MPI_Win* win, Pass pass);
int win_fence(int assertion, MPI_Win win, Pass pass);
int win_post(MPI_Group group, MPI_Win win, Pass pass);
int win_start(MPI_Group group, MPI_Win win, Pass pass);
int win_complete(MPI_Win win, Pass pass);
int win_wait(MPI_Win win, Pass pass);
int win_test(MPI_Win win, int* flag, Pass pass);
int win_lock(int type, int rank, int assertion, MPI_Win win, Pass pass);
int win_unlock(int rank, MPI_Win win, Pass pass);
int win_lock_all(int assertion, MPI_Win win, Pass pass);
int win_unlock_all(MPI_Win win, Pass pass);
int win_flush(int rank, MPI_Win win, Pass pass);  // also MPI_Win_flush_local
int win_flush_all(MPI_Win win, Pass pass);        // also MPI_Win_flush_local_all
int win_sync(MPI_Win win, Pass pass);

int put(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
        MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, Pass pass);
int get(void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
        MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, Pass pass);
int accumulate(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
               MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, Pass pass);
int get_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                   MPI_Count result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                   MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, Pass pass);
int rput(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
         MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request, Pass pass);
int rget(void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
         MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request, Pass pass);
int raccumulate(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
                MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                MPI_Request* request, Pass pass);
int rget_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                    MPI_Count result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                    MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                    MPI_Request* request, Pass pass);
int fetch_and_op(const void* origin, void* result, MPI_Datatype type, int rank, MPI_Aint displacement,
                 MPI_Op op, MPI_Win win, Pass pass);
int compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type, int rank,
                     MPI_Aint displacement, MPI_Win win, Pass pass);

// ---- datatypes and communicators
int type_commit(MPI_Datatype* type, Pass pass);
// *position: int, MPI_Count if large.
int pack(const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf, MPI_Count outsize,
         void* position, bool large, MPI_Comm comm, Pass pass);
int unpack(const void* inbuf, MPI_Count insize, void* position, void* outbuf, MPI_Count outcount,
           MPI_Datatype type, bool large, MPI_Comm comm, Pass pass);
// *position: MPI_Aint, MPI_Count in the large-count functions; both have 8 bytes.
int pack_external(const char* format, const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf,
                  MPI_Count outsize, void* position, Pass pass);
int unpack_external(const char* format, const void* inbuf, MPI_Count insize, void* position, void* outbuf,
                    MPI_Count outcount, MPI_Datatype type, Pass pass);
// Every collective call that makes one communicator for all its callers; agreement happens after `pass`
// succeeded.
int comm_new(MPI_Comm* newcomm, Pass pass);
int comm_idup(MPI_Comm comm, const MPI_Comm* newcomm, Pass pass);
int comm_free(const MPI_Comm* comm, Pass pass);

}  // namespace delegate
}  // namespace tasuki::shim
