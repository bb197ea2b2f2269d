#include "simmpi/calls/call_scope.h"

#include <time.h>

#include <algorithm>

#include "simmpi/objects/comm.h"
#include "simmpi/run/entries.h"
#include "simmpi/run/handles.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {
namespace {

int64_t cpu_time() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec) * 1000;
}

}  // namespace

CallScope::CallScope(const char* name) : task_(running_task()), name_(name) {
  Rank& rank = *task_->rank;
  outer_ = task_->slot == 0 && rank.call.name == nullptr;
  if (!outer_) return;
  const netsim::Machine& machine = rank.simulation.machine;
  if (machine.compute_scale > 0) {
    const int64_t elapsed = cpu_time() - rank.mpi->last_cpu;
    if (rank.mpi->last_cpu != 0 && elapsed > 0) {
      const Time t = static_cast<Time>(static_cast<double>(elapsed) * machine.compute_scale);
      task_->clock += t;
      rank.log.computing += t;
    }
  }
  rank.call = {name, task_->clock, 0, kNoPeer, 0};
  rank.waiting = {};
  task_->clock += machine.call_overhead;
}

CallScope::~CallScope() {
  if (!outer_) return;
  Rank& rank = *task_->rank;
  rank.call.end = task_->clock;
  rank.log.call_count++;
  rank.log.in_mpi += rank.call.end - rank.call.begin;
  if (rank.simulation.options.log && rank.log.calls.size() < rank.simulation.most_records)
    rank.log.calls.push_back(rank.call);
  rank.call.name = nullptr;
  if (rank.simulation.machine.compute_scale > 0) rank.mpi->last_cpu = cpu_time();
}

int CallScope::done(int code, MPI_Comm comm) {
  if (code == MPI_SUCCESS) return code;
  Comm* c = comm != MPI_COMM_NULL && comm != nullptr ? comm_of(comm) : nullptr;
  if (c == nullptr) c = mpi_state().self;
  MPI_Comm h = handle(c);
  if (c->errhandler == MPI_ERRORS_RETURN) return code;
  if (c->errhandler != MPI_ERRORS_ARE_FATAL && c->errhandler != MPI_ERRORS_ABORT) {
    if (auto* e = reinterpret_cast<Errhandler*>(c->errhandler); e->magic == Errhandler::kMagic) {
      e->function(&h, &code);
      return code;
    }
  }
  fail_rank(std::clamp(code, 1, 255), std::string(name_) + ": " + error_text(code));
}

void note_call(const Comm* comm, int peer, int tag, uint64_t bytes, const char* relation) {
  Rank& rank = *running_rank();
  if (running_task()->slot != 0) return;
  rank.call.bytes = bytes;
  rank.call.peer = peer >= 0 && peer < comm->peers().size() ? static_cast<int32_t>(comm->peers().world(peer))
                   : peer == MPI_ANY_SOURCE                 ? kAnyPeer
                                                            : kNoPeer;
  rank.waiting = {comm, peer, tag, relation};
}

int missing(const char* name) {
  fail_rank(1, std::string(name) + " is not in the simulator (docs/status/simmpi.md lists what is)");
}

}  // namespace tasuki::simmpi
