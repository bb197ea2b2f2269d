// MPI_Psend_init and what follows: partitions move by message/partitioned/channel.h. Between ranks of one
// space both sides come here, whatever their arguments; all others pass.
//
// Budget: a call for one partition is one look-up and what channel.h says.
#include "generated/pmpi.h"
#include "shim/calls/task_state.h"
#include "shim/objects/parts.h"

namespace tasuki::shim::delegate {
namespace {

// What MPICH says of a partition that there is not has no better class.
#if defined(OPEN_MPI)
constexpr int kNoSuchPartition = MPI_ERR_ARG;
#else
constexpr int kNoSuchPartition = MPI_ERR_OTHER;
#endif

// False: not valid, which the library reports.
bool count_all(int partitions, MPI_Count count, MPI_Count* all) {
  return partitions > 0 && count >= 0 && !__builtin_mul_overflow(count, MPI_Count{partitions}, all);
}

int raise_for(const Request* r, int code) {
  return raise(mine(r).comm != nullptr ? mine(r).comm->comm : MPI_COMM_NULL, code);
}

// What completes lists of requests has to know (completion.cpp).
int by_library(Pass pass) {
  const int rc = pass();
  if (rc == MPI_SUCCESS) g_process.library_testall_fails.store(true, std::memory_order_relaxed);
  return rc;
}

int hand_over(Request* r, const Target& t, MPI_Request* request) {
  if (r == nullptr) return raise(t.comm->comm, MPI_ERR_NO_MEM);
  *request = g_process.requests.handle_for(r);
  return MPI_SUCCESS;
}

bool is_partitioned(const Request* r, RequestKind kind) {
  return r->partitions != 0 && r->kind == kind;
}

bool has_partition(const Request* r, int partition) {
  return partition >= 0 && static_cast<uint32_t>(partition) < r->partitions;
}

// Of a send that is started, or the error is raised.
template <typename Mark>
int mark_ready(Request* r, bool valid, Mark mark) {
  if (!is_partitioned(r, RequestKind::send) || is_inactive(r)) return raise_for(r, MPI_ERR_REQUEST);
  if (!valid) return raise_for(r, kNoSuchPartition);
  return mark() ? MPI_SUCCESS : raise_for(r, kNoSuchPartition);
}

bool mark_one(Request* r, int partition) {
  const uint32_t part = static_cast<uint32_t>(partition);
  pack_part(r, part);
  return g_process.requests.channels().ready(r, part);
}

}  // namespace

int psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype type, int dest, int tag,
               MPI_Comm comm, MPI_Request* request, Pass pass) {
  MPI_Count all = 0;
  if (g_process.apart || request == nullptr || !count_all(partitions, count, &all)) return by_library(pass);
  return g_process.targets.to(buf, all, type, dest, tag, comm)
      .answer([&] { return by_library(pass); },
              [&](const Target& t) {
                const uint32_t parts = static_cast<uint32_t>(partitions);
                return hand_over(g_process.requests.make_partitioned_send(t, buf, all, parts, tag), t,
                                 request);
              });
}

int precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag,
               MPI_Comm comm, MPI_Request* request, Pass pass) {
  MPI_Count all = 0;
  if (g_process.apart || request == nullptr || !count_all(partitions, count, &all)) return by_library(pass);
  if (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) return by_library(pass);  // not valid here
  return g_process.targets.from(buf, all, type, source, tag, comm)
      .answer([&] { return by_library(pass); },
              [&](const Target& t) {
                const uint32_t parts = static_cast<uint32_t>(partitions);
                return hand_over(g_process.requests.make_partitioned_receive(t, buf, all, parts, tag), t,
                                 request);
              });
}

int pready(int partition, MPI_Request request, Pass pass) {
  Request* r = own(request);
  if (r == nullptr) return pass();
  return mark_ready(r, has_partition(r, partition), [&] { return mark_one(r, partition); });
}

int pready_range(int low, int high, MPI_Request request, Pass pass) {
  Request* r = own(request);
  if (r == nullptr) return pass();
  const bool valid = low <= high && has_partition(r, low) && has_partition(r, high);
  return mark_ready(r, valid, [&] {
    bool all = true;
    for (int i = low; i <= high; i++) all = mark_one(r, i) && all;
    return all;
  });
}

int pready_list(int length, const int partitions[], MPI_Request request, Pass pass) {
  Request* r = own(request);
  if (r == nullptr) return pass();
  bool valid = length >= 0 && (partitions != nullptr || length == 0);
  for (int i = 0; valid && i < length; i++) valid = has_partition(r, partitions[i]);
  return mark_ready(r, valid, [&] {
    bool all = true;
    for (int i = 0; i < length; i++) all = mark_one(r, partitions[i]) && all;
    return all;
  });
}

int parrived(MPI_Request request, int partition, int* flag, Pass pass) {
  Request* r = own(request);
  if (r == nullptr) return pass();
  if (!is_partitioned(r, RequestKind::receive)) return raise_for(r, MPI_ERR_REQUEST);
  if (flag == nullptr) return raise_for(r, MPI_ERR_ARG);
  if (!has_partition(r, partition)) return raise_for(r, kNoSuchPartition);
  const uint32_t part = static_cast<uint32_t>(partition);
  *flag = is_inactive(r) || Channels::arrived(r, part) ? 1 : 0;
  if (*flag == 0)
    nothing_found();
  else if (!is_inactive(r))
    unpack_part(r, part);
  return MPI_SUCCESS;
}

}  // namespace tasuki::shim::delegate
