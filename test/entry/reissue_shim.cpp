// A shim for testing the generated entry points alone: every delegate counts the call and issues it again
// from its own arguments. A parameter that the table hands to the wrong place gives a wrong program; a
// function that does not come here gives a wrong count. Rank 0 prints the counts at MPI_Finalize, one line
// each: "calls <delegate> <number>".
#include <climits>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>

#include "generated/pmpi.h"
#include "shim/delegates.h"
#include "shim/errors.h"

namespace tasuki::shim {

bool g_on = false;

void found_other_library(bool /*standard*/) {}

int result_of_error(int code) {
  return code;
}

namespace {

std::mutex g_mutex;
std::map<std::string, long>* g_calls = new std::map<std::string, long>;

void called(const char* name) {
  std::lock_guard lock(g_mutex);
  ++(*g_calls)[name];
}

void called(const char* name, SendMode mode) {
  static const char* const kModes[] = {"standard", "synchronous", "buffered", "ready"};
  called((std::string(name) + "/" + kModes[static_cast<int>(mode)]).c_str());
}

void called(const char* name, When when) {
  const char* const form = when.persistent ? "persistent_" : when.later ? "i" : "";
  called((form + std::string(name)).c_str());
}

bool fits(MPI_Count count) {
  return count <= INT_MAX;
}
int narrow(MPI_Count count) {
  return static_cast<int>(count);
}
const int* ints(const void* array) {
  return static_cast<const int*>(array);
}

}  // namespace

namespace delegate {

int init(Pass pass) {
  called("init");
  int error = pass();
  g_on = error == MPI_SUCCESS;
  return error;
}

int finalize(Pass pass) {
  called("finalize");
  int rank = -1;
  pmpi().Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    for (const auto& [name, number] : *g_calls) printf("calls %s %ld\n", name.c_str(), number);
    fflush(stdout);
  }
  g_on = false;
  return pass();
}

int send(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, SendMode mode,
         Pass pass) {
  called("send", mode);
  if (!fits(count)) return pass();
  const Pmpi& p = pmpi();
  return by_mode(mode, p.Send, p.Ssend, p.Bsend, p.Rsend)(buf, narrow(count), type, dest, tag, comm);
}

int recv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
         MPI_Status* status, Pass pass) {
  called("recv");
  if (!fits(count)) return pass();
  return pmpi().Recv(buf, narrow(count), type, source, tag, comm, status);
}

int sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
             void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
             MPI_Comm comm, MPI_Status* status, Pass pass) {
  called("sendrecv");
  if (!fits(sendcount) || !fits(recvcount)) return pass();
  return pmpi().Sendrecv(sendbuf, narrow(sendcount), sendtype, dest, sendtag, recvbuf, narrow(recvcount),
                         recvtype, source, recvtag, comm, status);
}

int sendrecv_replace(void* buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                     int recvtag, MPI_Comm comm, MPI_Status* status, Pass pass) {
  called("sendrecv_replace");
  if (!fits(count)) return pass();
  return pmpi().Sendrecv_replace(buf, narrow(count), type, dest, sendtag, source, recvtag, comm, status);
}

int isend(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
          MPI_Request* request, SendMode mode, Pass pass) {
  called("isend", mode);
  if (!fits(count)) return pass();
  const Pmpi& p = pmpi();
  return by_mode(mode, p.Isend, p.Issend, p.Ibsend, p.Irsend)(buf, narrow(count), type, dest, tag, comm,
                                                              request);
}

int irecv(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
          MPI_Request* request, Pass pass) {
  called("irecv");
  if (!fits(count)) return pass();
  return pmpi().Irecv(buf, narrow(count), type, source, tag, comm, request);
}

int isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
              MPI_Comm comm, MPI_Request* request, Pass pass) {
  called("isendrecv");
  if (!fits(sendcount) || !fits(recvcount) || !pmpi().Isendrecv) return pass();
  return pmpi().Isendrecv(sendbuf, narrow(sendcount), sendtype, dest, sendtag, recvbuf, narrow(recvcount),
                          recvtype, source, recvtag, comm, request);
}

int isendrecv_replace(void* buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                      int recvtag, MPI_Comm comm, MPI_Request* request, Pass pass) {
  called("isendrecv_replace");
  if (!fits(count) || !pmpi().Isendrecv_replace) return pass();
  return pmpi().Isendrecv_replace(buf, narrow(count), type, dest, sendtag, source, recvtag, comm, request);
}

int send_init(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request, SendMode mode, Pass pass) {
  called("send_init", mode);
  if (!fits(count)) return pass();
  const Pmpi& p = pmpi();
  return by_mode(mode, p.Send_init, p.Ssend_init, p.Bsend_init, p.Rsend_init)(buf, narrow(count), type, dest,
                                                                              tag, comm, request);
}

int recv_init(void* buf, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request, Pass pass) {
  called("recv_init");
  if (!fits(count)) return pass();
  return pmpi().Recv_init(buf, narrow(count), type, source, tag, comm, request);
}

int start(MPI_Request* request, Pass) {
  called("start");
  return pmpi().Start(request);
}

int startall(int count, MPI_Request requests[], Pass) {
  called("startall");
  return pmpi().Startall(count, requests);
}

int psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype type, int dest, int tag,
               MPI_Comm comm, MPI_Request* request, Pass pass) {
  called("psend_init");
  if (!pmpi().Psend_init) return pass();
  return pmpi().Psend_init(buf, partitions, count, type, dest, tag, comm, MPI_INFO_NULL, request);
}

int precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag,
               MPI_Comm comm, MPI_Request* request, Pass pass) {
  called("precv_init");
  if (!pmpi().Precv_init) return pass();
  return pmpi().Precv_init(buf, partitions, count, type, source, tag, comm, MPI_INFO_NULL, request);
}

int pready(int partition, MPI_Request request, Pass pass) {
  called("pready");
  if (!pmpi().Pready) return pass();
  return pmpi().Pready(partition, request);
}

int pready_range(int low, int high, MPI_Request request, Pass pass) {
  called("pready_range");
  if (!pmpi().Pready_range) return pass();
  return pmpi().Pready_range(low, high, request);
}

int pready_list(int length, const int partitions[], MPI_Request request, Pass pass) {
  called("pready_list");
  if (!pmpi().Pready_list) return pass();
  return pmpi().Pready_list(length, const_cast<int*>(partitions), request);
}

int parrived(MPI_Request request, int partition, int* flag, Pass pass) {
  called("parrived");
  if (!pmpi().Parrived) return pass();
  return pmpi().Parrived(request, partition, flag);
}

int probe(int source, int tag, MPI_Comm comm, MPI_Status* status, Pass) {
  called("probe");
  return pmpi().Probe(source, tag, comm, status);
}

int iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status, Pass) {
  called("iprobe");
  return pmpi().Iprobe(source, tag, comm, flag, status);
}

int mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status, Pass) {
  called("mprobe");
  return pmpi().Mprobe(source, tag, comm, message, status);
}

int improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status, Pass) {
  called("improbe");
  return pmpi().Improbe(source, tag, comm, flag, message, status);
}

int mrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status,
          Pass pass) {
  called("mrecv");
  if (!fits(count)) return pass();
  return pmpi().Mrecv(buf, narrow(count), type, message, status);
}

int imrecv(void* buf, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request,
           Pass pass) {
  called("imrecv");
  if (!fits(count)) return pass();
  return pmpi().Imrecv(buf, narrow(count), type, message, request);
}

int wait(MPI_Request* request, MPI_Status* status, Pass) {
  called("wait");
  return pmpi().Wait(request, status);
}

int waitall(int count, MPI_Request requests[], MPI_Status statuses[], Pass) {
  called("waitall");
  return pmpi().Waitall(count, requests, statuses);
}

int waitany(int count, MPI_Request requests[], int* index, MPI_Status* status, Pass) {
  called("waitany");
  return pmpi().Waitany(count, requests, index, status);
}

int waitsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[], Pass) {
  called("waitsome");
  return pmpi().Waitsome(incount, requests, outcount, indices, statuses);
}

int test(MPI_Request* request, int* flag, MPI_Status* status, Pass) {
  called("test");
  return pmpi().Test(request, flag, status);
}

int testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[], Pass) {
  called("testall");
  return pmpi().Testall(count, requests, flag, statuses);
}

int testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status, Pass) {
  called("testany");
  return pmpi().Testany(count, requests, index, flag, status);
}

int testsome(int incount, MPI_Request requests[], int* outcount, int indices[], MPI_Status statuses[], Pass) {
  called("testsome");
  return pmpi().Testsome(incount, requests, outcount, indices, statuses);
}

int request_free(MPI_Request* request, Pass) {
  called("request_free");
  return pmpi().Request_free(request);
}

int request_get_status(MPI_Request request, int* flag, MPI_Status* status, Pass) {
  called("request_get_status");
  return pmpi().Request_get_status(request, flag, status);
}

int cancel(MPI_Request* request, Pass) {
  called("cancel");
  return pmpi().Cancel(request);
}

int request_get_status_all(int, const MPI_Request[], int*, MPI_Status[], Pass pass) {
  called("request_get_status_all");
  return pass();
}

int request_get_status_any(int, const MPI_Request[], int*, int*, MPI_Status*, Pass pass) {
  called("request_get_status_any");
  return pass();
}

int request_get_status_some(int, const MPI_Request[], int*, int[], MPI_Status[], Pass pass) {
  called("request_get_status_some");
  return pass();
}

int buffer_flush(Pass pass) {
  called("buffer_flush");
  return pass();
}

int comm_attach_buffer(MPI_Comm, void*, MPI_Count, Pass pass) {
  called("comm_attach_buffer");
  return pass();
}

int comm_detach_buffer(MPI_Comm, Pass pass) {
  called("comm_detach_buffer");
  return pass();
}

int buffer_attach(void* buffer, MPI_Count bytes, Pass pass) {
  called("buffer_attach");
  if (!fits(bytes)) return pass();
  return pmpi().Buffer_attach(buffer, narrow(bytes));
}

int buffer_detach(void* buffer_address, void* bytes_address, bool large, Pass) {
  called(large ? "buffer_detach/large" : "buffer_detach");
  int bytes = 0;
  int error = pmpi().Buffer_detach(buffer_address, &bytes);
  if (large)
    *static_cast<MPI_Count*>(bytes_address) = bytes;
  else
    *static_cast<int*>(bytes_address) = bytes;
  return error;
}

int bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm, When when, Pass pass) {
  called("bcast", when);
  if (!fits(count)) return pass();
  if (when.persistent)
    return pmpi().Bcast_init(buffer, narrow(count), type, root, comm, MPI_INFO_NULL, when.request);
  if (when.later) return pmpi().Ibcast(buffer, narrow(count), type, root, comm, when.request);
  return pmpi().Bcast(buffer, narrow(count), type, root, comm);
}

int barrier(MPI_Comm comm, When when, Pass) {
  called("barrier", when);
  if (when.persistent) return pmpi().Barrier_init(comm, MPI_INFO_NULL, when.request);
  if (when.later) return pmpi().Ibarrier(comm, when.request);
  return pmpi().Barrier(comm);
}

int allreduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, When when, Pass pass) {
  called("allreduce", when);
  if (!fits(count)) return pass();
  if (when.persistent)
    return pmpi().Allreduce_init(sendbuf, recvbuf, narrow(count), type, op, comm, MPI_INFO_NULL,
                                 when.request);
  if (when.later) return pmpi().Iallreduce(sendbuf, recvbuf, narrow(count), type, op, comm, when.request);
  return pmpi().Allreduce(sendbuf, recvbuf, narrow(count), type, op, comm);
}

int reduce(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, int root,
           MPI_Comm comm, When when, Pass pass) {
  called("reduce", when);
  if (!fits(count)) return pass();
  if (when.persistent)
    return pmpi().Reduce_init(sendbuf, recvbuf, narrow(count), type, op, root, comm, MPI_INFO_NULL,
                              when.request);
  if (when.later) return pmpi().Ireduce(sendbuf, recvbuf, narrow(count), type, op, root, comm, when.request);
  return pmpi().Reduce(sendbuf, recvbuf, narrow(count), type, op, root, comm);
}

int reduce_scatter_block(const void* sendbuf, void* recvbuf, MPI_Count recvcount, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm, When when, Pass pass) {
  called("reduce_scatter_block", when);
  if (!fits(recvcount)) return pass();
  if (when.persistent)
    return pmpi().Reduce_scatter_block_init(sendbuf, recvbuf, narrow(recvcount), type, op, comm,
                                            MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Ireduce_scatter_block(sendbuf, recvbuf, narrow(recvcount), type, op, comm, when.request);
  return pmpi().Reduce_scatter_block(sendbuf, recvbuf, narrow(recvcount), type, op, comm);
}

int scan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
         When when, Pass pass) {
  called("scan", when);
  if (!fits(count)) return pass();
  if (when.persistent)
    return pmpi().Scan_init(sendbuf, recvbuf, narrow(count), type, op, comm, MPI_INFO_NULL, when.request);
  if (when.later) return pmpi().Iscan(sendbuf, recvbuf, narrow(count), type, op, comm, when.request);
  return pmpi().Scan(sendbuf, recvbuf, narrow(count), type, op, comm);
}

int exscan(const void* sendbuf, void* recvbuf, MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
           When when, Pass pass) {
  called("exscan", when);
  if (!fits(count)) return pass();
  if (when.persistent)
    return pmpi().Exscan_init(sendbuf, recvbuf, narrow(count), type, op, comm, MPI_INFO_NULL, when.request);
  if (when.later) return pmpi().Iexscan(sendbuf, recvbuf, narrow(count), type, op, comm, when.request);
  return pmpi().Exscan(sendbuf, recvbuf, narrow(count), type, op, comm);
}

int allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
              MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass) {
  called("allgather", when);
  if (!fits(sendcount) || !fits(recvcount)) return pass();
  if (when.persistent)
    return pmpi().Allgather_init(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype,
                                 comm, MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Iallgather(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype, comm,
                             when.request);
  return pmpi().Allgather(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype, comm);
}

int alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
             MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass) {
  called("alltoall", when);
  if (!fits(sendcount) || !fits(recvcount)) return pass();
  if (when.persistent)
    return pmpi().Alltoall_init(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype,
                                comm, MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Ialltoall(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype, comm,
                            when.request);
  return pmpi().Alltoall(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype, comm);
}

int gather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
           MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, When when, Pass pass) {
  called("gather", when);
  if (!fits(sendcount) || !fits(recvcount)) return pass();
  if (when.persistent)
    return pmpi().Gather_init(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype,
                              root, comm, MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Igather(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype, root,
                          comm, when.request);
  return pmpi().Gather(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype, root,
                       comm);
}

int scatter(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, When when, Pass pass) {
  called("scatter", when);
  if (!fits(sendcount) || !fits(recvcount)) return pass();
  if (when.persistent)
    return pmpi().Scatter_init(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype,
                               root, comm, MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Iscatter(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype, root,
                           comm, when.request);
  return pmpi().Scatter(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype, root,
                        comm);
}

int allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
               const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype, MPI_Comm comm,
               When when, Pass pass) {
  called("allgatherv", when);
  if (large) return pass();
  if (when.persistent)
    return pmpi().Allgatherv_init(sendbuf, narrow(sendcount), sendtype, recvbuf, ints(recvcounts),
                                  ints(displs), recvtype, comm, MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Iallgatherv(sendbuf, narrow(sendcount), sendtype, recvbuf, ints(recvcounts), ints(displs),
                              recvtype, comm, when.request);
  return pmpi().Allgatherv(sendbuf, narrow(sendcount), sendtype, recvbuf, ints(recvcounts), ints(displs),
                           recvtype, comm);
}

int alltoallv(const void* sendbuf, const void* sendcounts, const void* sdispls, MPI_Datatype sendtype,
              void* recvbuf, const void* recvcounts, const void* rdispls, bool large, MPI_Datatype recvtype,
              MPI_Comm comm, When when, Pass pass) {
  called("alltoallv", when);
  if (large) return pass();
  if (when.persistent)
    return pmpi().Alltoallv_init(sendbuf, ints(sendcounts), ints(sdispls), sendtype, recvbuf,
                                 ints(recvcounts), ints(rdispls), recvtype, comm, MPI_INFO_NULL,
                                 when.request);
  if (when.later)
    return pmpi().Ialltoallv(sendbuf, ints(sendcounts), ints(sdispls), sendtype, recvbuf, ints(recvcounts),
                             ints(rdispls), recvtype, comm, when.request);
  return pmpi().Alltoallv(sendbuf, ints(sendcounts), ints(sdispls), sendtype, recvbuf, ints(recvcounts),
                          ints(rdispls), recvtype, comm);
}

int alltoallw(const void* sendbuf, const void* sendcounts, const void* sdispls,
              const MPI_Datatype sendtypes[], void* recvbuf, const void* recvcounts, const void* rdispls,
              bool large, const MPI_Datatype recvtypes[], MPI_Comm comm, When when, Pass pass) {
  called("alltoallw", when);
  if (large) return pass();
  if (when.persistent)
    return pmpi().Alltoallw_init(sendbuf, ints(sendcounts), ints(sdispls), sendtypes, recvbuf,
                                 ints(recvcounts), ints(rdispls), recvtypes, comm, MPI_INFO_NULL,
                                 when.request);
  if (when.later)
    return pmpi().Ialltoallw(sendbuf, ints(sendcounts), ints(sdispls), sendtypes, recvbuf, ints(recvcounts),
                             ints(rdispls), recvtypes, comm, when.request);
  return pmpi().Alltoallw(sendbuf, ints(sendcounts), ints(sdispls), sendtypes, recvbuf, ints(recvcounts),
                          ints(rdispls), recvtypes, comm);
}

int neighbor_allgather(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                       MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass) {
  called("neighbor_allgather", when);
  if (!fits(sendcount) || !fits(recvcount)) return pass();
  if (when.persistent)
    return pmpi().Neighbor_allgather_init(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount),
                                          recvtype, comm, MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Ineighbor_allgather(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount),
                                      recvtype, comm, when.request);
  return pmpi().Neighbor_allgather(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype,
                                   comm);
}

int neighbor_allgatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                        const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype,
                        MPI_Comm comm, When when, Pass pass) {
  called("neighbor_allgatherv", when);
  if (large) return pass();
  if (when.persistent)
    return pmpi().Neighbor_allgatherv_init(sendbuf, narrow(sendcount), sendtype, recvbuf, ints(recvcounts),
                                           ints(displs), recvtype, comm, MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Ineighbor_allgatherv(sendbuf, narrow(sendcount), sendtype, recvbuf, ints(recvcounts),
                                       ints(displs), recvtype, comm, when.request);
  return pmpi().Neighbor_allgatherv(sendbuf, narrow(sendcount), sendtype, recvbuf, ints(recvcounts),
                                    ints(displs), recvtype, comm);
}

int neighbor_alltoall(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass) {
  called("neighbor_alltoall", when);
  if (!fits(sendcount) || !fits(recvcount)) return pass();
  if (when.persistent)
    return pmpi().Neighbor_alltoall_init(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount),
                                         recvtype, comm, MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Ineighbor_alltoall(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount),
                                     recvtype, comm, when.request);
  return pmpi().Neighbor_alltoall(sendbuf, narrow(sendcount), sendtype, recvbuf, narrow(recvcount), recvtype,
                                  comm);
}

int neighbor_alltoallv(const void* sendbuf, const void* sendcounts, const void* sdispls,
                       MPI_Datatype sendtype, void* recvbuf, const void* recvcounts, const void* rdispls,
                       bool large, MPI_Datatype recvtype, MPI_Comm comm, When when, Pass pass) {
  called("neighbor_alltoallv", when);
  if (large) return pass();
  if (when.persistent)
    return pmpi().Neighbor_alltoallv_init(sendbuf, ints(sendcounts), ints(sdispls), sendtype, recvbuf,
                                          ints(recvcounts), ints(rdispls), recvtype, comm, MPI_INFO_NULL,
                                          when.request);
  if (when.later)
    return pmpi().Ineighbor_alltoallv(sendbuf, ints(sendcounts), ints(sdispls), sendtype, recvbuf,
                                      ints(recvcounts), ints(rdispls), recvtype, comm, when.request);
  return pmpi().Neighbor_alltoallv(sendbuf, ints(sendcounts), ints(sdispls), sendtype, recvbuf,
                                   ints(recvcounts), ints(rdispls), recvtype, comm);
}

int neighbor_alltoallw(const void* sendbuf, const void* sendcounts, const MPI_Aint sdispls[],
                       const MPI_Datatype sendtypes[], void* recvbuf, const void* recvcounts,
                       const MPI_Aint rdispls[], bool large, const MPI_Datatype recvtypes[], MPI_Comm comm,
                       When when, Pass pass) {
  called("neighbor_alltoallw", when);
  if (large) return pass();
  if (when.persistent)
    return pmpi().Neighbor_alltoallw_init(sendbuf, ints(sendcounts), sdispls, sendtypes, recvbuf,
                                          ints(recvcounts), rdispls, recvtypes, comm, MPI_INFO_NULL,
                                          when.request);
  if (when.later)
    return pmpi().Ineighbor_alltoallw(sendbuf, ints(sendcounts), sdispls, sendtypes, recvbuf,
                                      ints(recvcounts), rdispls, recvtypes, comm, when.request);
  return pmpi().Neighbor_alltoallw(sendbuf, ints(sendcounts), sdispls, sendtypes, recvbuf, ints(recvcounts),
                                   rdispls, recvtypes, comm);
}

int gatherv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void* recvbuf,
            const void* recvcounts, const void* displs, bool large, MPI_Datatype recvtype, int root,
            MPI_Comm comm, When when, Pass pass) {
  called("gatherv", when);
  if (large) return pass();
  if (when.persistent)
    return pmpi().Gatherv_init(sendbuf, narrow(sendcount), sendtype, recvbuf, ints(recvcounts), ints(displs),
                               recvtype, root, comm, MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Igatherv(sendbuf, narrow(sendcount), sendtype, recvbuf, ints(recvcounts), ints(displs),
                           recvtype, root, comm, when.request);
  return pmpi().Gatherv(sendbuf, narrow(sendcount), sendtype, recvbuf, ints(recvcounts), ints(displs),
                        recvtype, root, comm);
}

int scatterv(const void* sendbuf, const void* sendcounts, const void* displs, bool large,
             MPI_Datatype sendtype, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root,
             MPI_Comm comm, When when, Pass pass) {
  called("scatterv", when);
  if (large) return pass();
  if (when.persistent)
    return pmpi().Scatterv_init(sendbuf, ints(sendcounts), ints(displs), sendtype, recvbuf, narrow(recvcount),
                                recvtype, root, comm, MPI_INFO_NULL, when.request);
  if (when.later)
    return pmpi().Iscatterv(sendbuf, ints(sendcounts), ints(displs), sendtype, recvbuf, narrow(recvcount),
                            recvtype, root, comm, when.request);
  return pmpi().Scatterv(sendbuf, ints(sendcounts), ints(displs), sendtype, recvbuf, narrow(recvcount),
                         recvtype, root, comm);
}

int reduce_scatter(const void* sendbuf, void* recvbuf, const void* recvcounts, bool large, MPI_Datatype type,
                   MPI_Op op, MPI_Comm comm, When when, Pass pass) {
  called("reduce_scatter", when);
  if (large) return pass();
  if (when.persistent)
    return pmpi().Reduce_scatter_init(sendbuf, recvbuf, ints(recvcounts), type, op, comm, MPI_INFO_NULL,
                                      when.request);
  if (when.later)
    return pmpi().Ireduce_scatter(sendbuf, recvbuf, ints(recvcounts), type, op, comm, when.request);
  return pmpi().Reduce_scatter(sendbuf, recvbuf, ints(recvcounts), type, op, comm);
}

int win_create(void*, MPI_Aint, MPI_Comm, const MPI_Win*, Pass pass) {
  called("win_create");
  return pass();
}

// The address of the window's memory comes back through the argument.
int win_allocate(const void* base_address, MPI_Aint displacement_unit, MPI_Comm comm, const MPI_Win* win,
                 Pass pass) {
  called("win_allocate");
  int error = pass(), same = MPI_UNEQUAL, found = 0, *unit = nullptr;
  void* base = nullptr;
  MPI_Group of_comm = MPI_GROUP_NULL, of_win = MPI_GROUP_NULL;
  if (error != MPI_SUCCESS) return error;
  pmpi().Win_get_attr(*win, MPI_WIN_BASE, &base, &found);
  pmpi().Win_get_attr(*win, MPI_WIN_DISP_UNIT, &unit, &found);
  pmpi().Win_get_group(*win, &of_win);
  pmpi().Comm_group(comm, &of_comm);
  pmpi().Group_compare(of_comm, of_win, &same);
  pmpi().Group_free(&of_comm);
  pmpi().Group_free(&of_win);
  const bool right =
      base == *static_cast<void* const*>(base_address) && *unit == displacement_unit && same == MPI_IDENT;
  return right ? MPI_SUCCESS : MPI_ERR_ARG;
}

int win_create_dynamic(MPI_Comm, const MPI_Win*, Pass pass) {
  called("win_create_dynamic");
  return pass();
}

int win_free(const MPI_Win* win, Pass pass) {
  called("win_free");
  MPI_Group group = MPI_GROUP_NULL;
  const int error = pmpi().Win_get_group(*win, &group);
  if (error != MPI_SUCCESS) return error;
  pmpi().Group_free(&group);
  return pass();
}

int win_fence(int assertion, MPI_Win win, Pass) {
  called("win_fence");
  return pmpi().Win_fence(assertion, win);
}

int win_post(MPI_Group group, MPI_Win win, Pass) {
  called("win_post");
  return pmpi().Win_post(group, 0, win);
}

int win_start(MPI_Group group, MPI_Win win, Pass) {
  called("win_start");
  return pmpi().Win_start(group, 0, win);
}

int win_complete(MPI_Win win, Pass) {
  called("win_complete");
  return pmpi().Win_complete(win);
}

int win_wait(MPI_Win win, Pass) {
  called("win_wait");
  return pmpi().Win_wait(win);
}

int win_test(MPI_Win win, int* flag, Pass) {
  called("win_test");
  return pmpi().Win_test(win, flag);
}

int win_lock(int type, int rank, int assertion, MPI_Win win, Pass) {
  called(type == MPI_LOCK_SHARED ? "win_lock/shared" : "win_lock/exclusive");
  return pmpi().Win_lock(type, rank, assertion, win);
}

int win_unlock(int rank, MPI_Win win, Pass) {
  called("win_unlock");
  return pmpi().Win_unlock(rank, win);
}

int win_lock_all(int assertion, MPI_Win win, Pass) {
  called("win_lock_all");
  return pmpi().Win_lock_all(assertion, win);
}

int win_unlock_all(MPI_Win win, Pass) {
  called("win_unlock_all");
  return pmpi().Win_unlock_all(win);
}

int win_flush(int rank, MPI_Win win, Pass) {
  called("win_flush");
  return pmpi().Win_flush(rank, win);
}

int win_flush_all(MPI_Win win, Pass) {
  called("win_flush_all");
  return pmpi().Win_flush_all(win);
}

int win_sync(MPI_Win win, Pass) {
  called("win_sync");
  return pmpi().Win_sync(win);
}

int put(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
        MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, Pass pass) {
  called("put");
  if (!fits(count) || !fits(target_count)) return pass();
  return pmpi().Put(origin, narrow(count), type, rank, displacement, narrow(target_count), target_type, win);
}

int get(void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
        MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, Pass pass) {
  called("get");
  if (!fits(count) || !fits(target_count)) return pass();
  return pmpi().Get(origin, narrow(count), type, rank, displacement, narrow(target_count), target_type, win);
}

int accumulate(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
               MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, Pass pass) {
  called("accumulate");
  if (!fits(count) || !fits(target_count)) return pass();
  return pmpi().Accumulate(origin, narrow(count), type, rank, displacement, narrow(target_count), target_type,
                           op, win);
}

int get_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                   MPI_Count result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                   MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, Pass pass) {
  called("get_accumulate");
  if (!fits(count) || !fits(target_count)) return pass();
  return pmpi().Get_accumulate(origin, narrow(count), type, result, narrow(result_count), result_type, rank,
                               displacement, narrow(target_count), target_type, op, win);
}

int rput(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
         MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request, Pass pass) {
  called("rput");
  if (!fits(count) || !fits(target_count)) return pass();
  return pmpi().Rput(origin, narrow(count), type, rank, displacement, narrow(target_count), target_type, win,
                     request);
}

int rget(void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
         MPI_Count target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request, Pass pass) {
  called("rget");
  if (!fits(count) || !fits(target_count)) return pass();
  return pmpi().Rget(origin, narrow(count), type, rank, displacement, narrow(target_count), target_type, win,
                     request);
}

int raccumulate(const void* origin, MPI_Count count, MPI_Datatype type, int rank, MPI_Aint displacement,
                MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                MPI_Request* request, Pass pass) {
  called("raccumulate");
  if (!fits(count) || !fits(target_count)) return pass();
  return pmpi().Raccumulate(origin, narrow(count), type, rank, displacement, narrow(target_count),
                            target_type, op, win, request);
}

int rget_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                    MPI_Count result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement,
                    MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win,
                    MPI_Request* request, Pass pass) {
  called("rget_accumulate");
  if (!fits(count) || !fits(target_count)) return pass();
  return pmpi().Rget_accumulate(origin, narrow(count), type, result, narrow(result_count), result_type, rank,
                                displacement, narrow(target_count), target_type, op, win, request);
}

int fetch_and_op(const void* origin, void* result, MPI_Datatype type, int rank, MPI_Aint displacement,
                 MPI_Op op, MPI_Win win, Pass) {
  called("fetch_and_op");
  return pmpi().Fetch_and_op(origin, result, type, rank, displacement, op, win);
}

int compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type, int rank,
                     MPI_Aint displacement, MPI_Win win, Pass) {
  called("compare_and_swap");
  return pmpi().Compare_and_swap(origin, compare, result, type, rank, displacement, win);
}

int type_commit(MPI_Datatype* type, Pass) {
  called("type_commit");
  return pmpi().Type_commit(type);
}

int pack(const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf, MPI_Count outsize,
         void* position, bool large, MPI_Comm comm, Pass pass) {
  called(large ? "pack/large" : "pack");
  if (large || !fits(incount) || !fits(outsize)) return pass();
  return pmpi().Pack(inbuf, narrow(incount), type, outbuf, narrow(outsize), static_cast<int*>(position),
                     comm);
}

int unpack(const void* inbuf, MPI_Count insize, void* position, void* outbuf, MPI_Count outcount,
           MPI_Datatype type, bool large, MPI_Comm comm, Pass pass) {
  called(large ? "unpack/large" : "unpack");
  if (large || !fits(insize) || !fits(outcount)) return pass();
  return pmpi().Unpack(inbuf, narrow(insize), static_cast<int*>(position), outbuf, narrow(outcount), type,
                       comm);
}

// Classic and large positions have one size, but not one type: which function it was does not show here.
int pack_external(const char* format, const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf,
                  MPI_Count outsize, void* position, Pass pass) {
  called("pack_external");
  if (!fits(incount)) return pass();
  return pmpi().Pack_external(format, inbuf, narrow(incount), type, outbuf, static_cast<MPI_Aint>(outsize),
                              static_cast<MPI_Aint*>(position));
}

int unpack_external(const char* format, const void* inbuf, MPI_Count insize, void* position, void* outbuf,
                    MPI_Count outcount, MPI_Datatype type, Pass pass) {
  called("unpack_external");
  if (!fits(outcount)) return pass();
  return pmpi().Unpack_external(format, inbuf, static_cast<MPI_Aint>(insize),
                                static_cast<MPI_Aint*>(position), outbuf, narrow(outcount), type);
}

// The communicator must be the new one and usable by all its members at once.
int comm_new(MPI_Comm* newcomm, Pass pass) {
  called("comm_new");
  int error = pass();
  if (error != MPI_SUCCESS || *newcomm == MPI_COMM_NULL) return error;
  return pmpi().Barrier(*newcomm);
}

// A duplicate of the communicator, which may not be used yet.
int comm_idup(MPI_Comm comm, const MPI_Comm* newcomm, Pass pass) {
  called("comm_idup");
  const int error = pass();
  if (error == MPI_SUCCESS && (*newcomm == MPI_COMM_NULL || *newcomm == comm)) return MPI_ERR_COMM;
  return error;
}

// The communicator is still valid.
int comm_free(const MPI_Comm* comm, Pass pass) {
  called("comm_free");
  int size = 0;
  const int error = pmpi().Comm_size(*comm, &size);
  return error == MPI_SUCCESS ? pass() : error;
}

}  // namespace delegate
}  // namespace tasuki::shim
