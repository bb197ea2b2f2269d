// What one MPI process (a task) knows: its engine, and the tables of communicators, datatypes and requests.
// Globals exist once per task, because every task loads this library for itself.
#pragma once

#include <mpi.h>

#include "message/broadcast.h"
#include "message/engine.h"
#include "message/helpers.h"
#include "shim/delegates.h"
#include "shim/hosts/span.h"
#include "shim/objects/attached.h"
#include "shim/objects/comm.h"
#include "shim/objects/datatype.h"
#include "shim/objects/detached.h"
#include "shim/objects/handle_map.h"
#include "shim/objects/messages.h"

namespace tasuki::shim {

enum class RemotePolicy : int { on, always, off };  // the order of TASUKI_REMOTE's choices

struct Process {
  Engine engine;
  Broadcaster broadcaster{engine};
  HelperThreads helpers;
  CommTable comms;
  SpanTable spans;
  TypeTable types;
  HandleMap<Request> requests;  // by the MPI_Request that stands for it
  DetachedRequests detached;
  MessageTable messages;
  AttachedBuffers attached{engine};
  Board* board = nullptr;
  int world_rank = 0, world_size = 0;
  int tag_upper_bound = 0;
  bool threads = false;  // MPI_THREAD_MULTIPLE
  bool statistics = false;
  RemotePolicy remote = RemotePolicy::off;  // typed messages that the library moves are packed here: remote.h
  uint64_t remote_bytes = 0;                // so packed and unpacked
  uint64_t external_bytes = 0;              // packed to and unpacked from "external32"
  MPI_Request never_done{};                 // a generalized request: asking for it makes the library progress
  MPI_Comm quiet_comm{};                    // a communicator for what the user must not notice
  uint32_t unsuccessful = 0;                // tests and probes in a row that found nothing
};

extern Process g_process;

// Lets the MPI library progress: its own messages, one-sided operations, non-blocking collectives.
void library_progress();

// A test or probe found nothing: progress, and give the core away now and then when tasks outnumber cores.
void nothing_found();

// Raises an error on the communicator (MPI_COMM_WORLD if comm is MPI_COMM_NULL) as an MPI function would, and
// returns the code.
int raise(MPI_Comm comm, int code);

// The monotonic clock.
int64_t now_ms();

// Ends the job, after a line on stderr that says why.
[[noreturn]] void end_job();

}  // namespace tasuki::shim
