#include "shim/entry/stand_in.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "generated/pmpi.h"

namespace tasuki::shim::stand_in {
namespace {

// What is packed by one call of the classic functions, in bytes.
constexpr MPI_Count kMost = 1 << 30;

int narrow(MPI_Count n) {
  return static_cast<int>(std::clamp<MPI_Count>(n, -1, INT_MAX));
}

MPI_Count g_attached = 0;  // more than the library was told

// Goes through a large typed buffer in pieces that the classic functions can pack: move(place in it,
// elements, packed bytes that are left, position) for each. *position moves on.
template <typename Move>
int in_pieces(MPI_Count count, MPI_Datatype type, MPI_Count room, MPI_Count* position, Move move) {
  MPI_Count size = 0, lower = 0, extent = 0;
  int rc = pmpi().Type_size_x(type, &size);
  if (rc == MPI_SUCCESS) rc = pmpi().Type_get_extent_x(type, &lower, &extent);
  const MPI_Count step = std::clamp<MPI_Count>(kMost / std::max<MPI_Count>(size, 1), 1, INT_MAX);
  MPI_Count done = 0;
  do {
    if (rc != MPI_SUCCESS) return rc;
    const MPI_Count n = std::min(step, count - done);
    int moved = 0;
    rc = move(done * extent, narrow(n), *position, narrow(room - *position), &moved);
    if (rc == MPI_SUCCESS) *position += moved;
    done += n;
  } while (done < count);
  return rc;
}

// Copies that are being sent.
struct Sent {
  MPI_Request request;
  char* copy;
};
std::mutex g_mutex;
std::vector<Sent> g_sent;

void free_sent() {
  for (size_t i = 0; i < g_sent.size();) {
    int done = 0;
    pmpi().Test(&g_sent[i].request, &done, MPI_STATUS_IGNORE);
    if (done == 0) {
      i++;
      continue;
    }
    free(g_sent[i].copy);
    g_sent[i] = g_sent.back();
    g_sent.pop_back();
  }
}

// Sends a packed copy. It is freed later; MPI_Finalize completes what then is still on its way.
int send_copy(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  const std::lock_guard lock(g_mutex);
  free_sent();
  // The library's own answer to what is wrong, and nothing to copy.
  MPI_Request request = MPI_REQUEST_NULL;
  if (count <= 0 || dest < 0) {
    const int rc = pmpi().Isend(buf, narrow(count), type, dest, tag, comm, &request);
    return rc == MPI_SUCCESS ? pmpi().Wait(&request, MPI_STATUS_IGNORE) : rc;
  }
  MPI_Count size = 0, position = 0;
  if (const int rc = pmpi().Type_size_x(type, &size); rc != MPI_SUCCESS) return rc;
  const MPI_Count room = count * size + 1024;  // some libraries put a few bytes before the data
  char* copy = static_cast<char*>(malloc(static_cast<size_t>(room)));
  if (copy == nullptr) {
    pmpi().Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
  }
  int rc = pack(buf, count, type, copy, room, &position, comm);
  if (rc == MPI_SUCCESS) {
    const Sized bytes(position, MPI_PACKED);
    rc = pmpi().Isend(copy, bytes.count(), bytes.type(), dest, tag, comm, &request);
  }
  if (rc == MPI_SUCCESS)
    g_sent.push_back({request, copy});
  else
    free(copy);
  return rc;
}

}  // namespace

Sized::Sized(MPI_Count count, MPI_Datatype type) : count_(narrow(count)), type_(type) {
  if (count <= INT_MAX) return;
  constexpr MPI_Count kBlock = 1 << 30;
  MPI_Count lower = 0, extent = 0;
  MPI_Datatype block = MPI_DATATYPE_NULL, parts[2];
  int rc = pmpi().Type_get_extent_x(type, &lower, &extent);
  if (rc == MPI_SUCCESS) rc = pmpi().Type_contiguous(kBlock, type, &block);
  if (rc != MPI_SUCCESS) return;  // raised; the call with INT_MAX elements says the same once more
  pmpi().Type_contiguous(static_cast<int>(count / kBlock), block, &parts[0]);
  pmpi().Type_contiguous(static_cast<int>(count % kBlock), type, &parts[1]);
  int ones[2] = {1, 1};
  MPI_Aint places[2] = {0, static_cast<MPI_Aint>(count / kBlock * kBlock * extent)};
  pmpi().Type_create_struct(2, ones, places, parts, &type_);
  pmpi().Type_commit(&type_);
  pmpi().Type_free(&block);
  pmpi().Type_free(&parts[0]);
  pmpi().Type_free(&parts[1]);
  count_ = 1;
  made_ = true;
}

Sized::~Sized() {
  if (made_) pmpi().Type_free(&type_);
}

// The library uses no more of a larger buffer than it can be told of.
int buffer_attach(void* buffer, MPI_Count size) {
  const int rc = pmpi().Buffer_attach(buffer, narrow(size));
  if (rc == MPI_SUCCESS) g_attached = size;
  return rc;
}

int buffer_detach(void* address, MPI_Count* size) {
  int n = 0;
  const int rc = pmpi().Buffer_detach(address, &n);
  if (rc == MPI_SUCCESS) *size = n == INT_MAX ? g_attached : n;
  return rc;
}

int pack(const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf, MPI_Count outsize,
         MPI_Count* position, MPI_Comm comm) {
  return in_pieces(incount, type, outsize, position,
                   [&](MPI_Count at, int n, MPI_Count from, int room, int* moved) {
                     return pmpi().Pack(static_cast<const char*>(inbuf) + at, n, type,
                                        static_cast<char*>(outbuf) + from, room, moved, comm);
                   });
}

int unpack(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf, MPI_Count outcount,
           MPI_Datatype type, MPI_Comm comm) {
  return in_pieces(outcount, type, insize, position,
                   [&](MPI_Count at, int n, MPI_Count from, int room, int* moved) {
                     return pmpi().Unpack(static_cast<const char*>(inbuf) + from, room, moved,
                                          static_cast<char*>(outbuf) + at, n, type, comm);
                   });
}

int pack_external(const char* format, const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf,
                  MPI_Count outsize, MPI_Count* position) {
  const Sized in(incount, type);
  MPI_Aint at = *position;
  const int rc = pmpi().Pack_external(format, inbuf, in.count(), in.type(), outbuf, outsize, &at);
  *position = at;
  return rc;
}

int unpack_external(const char* format, const void* inbuf, MPI_Count insize, MPI_Count* position,
                    void* outbuf, MPI_Count outcount, MPI_Datatype type) {
  const Sized out(outcount, type);
  MPI_Aint at = *position;
  const int rc = pmpi().Unpack_external(format, inbuf, insize, &at, outbuf, out.count(), out.type());
  *position = at;
  return rc;
}

int isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag,
              MPI_Comm comm, MPI_Request* request) {
  const int rc = send_copy(sendbuf, sendcount, sendtype, dest, sendtag, comm);
  if (rc != MPI_SUCCESS) return rc;
  const Sized in(recvcount, recvtype);
  return pmpi().Irecv(recvbuf, in.count(), in.type(), source, recvtag, comm, request);
}

int isendrecv_replace(void* buf, MPI_Count count, MPI_Datatype type, int dest, int sendtag, int source,
                      int recvtag, MPI_Comm comm, MPI_Request* request) {
  return isendrecv(buf, count, type, dest, sendtag, buf, count, type, source, recvtag, comm, request);
}

}  // namespace tasuki::shim::stand_in
