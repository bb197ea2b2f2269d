// What one MPI process (a task) knows: its engine, and the tables of communicators, datatypes and requests.
// Globals exist once per task, because every task loads this library for itself.
#pragma once

#include <mpi.h>

#include <vector>

#include "message/broadcast.h"
#include "message/engine.h"
#include "message/helpers.h"
#include "shim/delegates.h"
#include "shim/hosts/span.h"
#include "shim/objects/comm.h"
#include "shim/objects/datatype.h"
#include "shim/objects/handle_map.h"

namespace tasuki::shim {

// A message that a matched probe has taken out of its queue.
struct Matched {
  Envelope* envelope;
  CommInfo* comm;  // retained
};

enum class RemotePolicy : int { on, always, off };  // the order of TASUKI_REMOTE's choices

struct Process {
  Engine engine;
  Broadcaster broadcaster{engine};
  HelperThreads helpers;
  CommTable comms;
  SpanTable spans;
  TypeTable types;
  HandleMap<Request> requests;            // by the MPI_Request that stands for it
  SpinLock message_lock;                  // spare_messages
  std::vector<uintptr_t> spare_messages;  // MPI_Messages of the library that stand for none of ours now
  std::vector<uintptr_t> sent_messages;   // the MPI_Requests that sent them
  HandleMap<Matched> messages;            // by the MPI_Message
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
  SpinLock lock;                            // what follows, when `threads`
  Request* detached = nullptr;              // freed by the user while active
  // Buffered mode. Each buffer by itself is large enough for a correct program's messages, so all together
  // are: one account for the process's and those of communicators (MPI-4.1).
  uint64_t attached_bytes = 0;
  uint64_t attached_to_process = 0;  // MPI_Buffer_attach's part of it
  uint64_t attached_used = 0;
  uint32_t attachment = 0;    // which of the attached buffers, counted, that is
  uint32_t unsuccessful = 0;  // tests and probes in a row that found nothing
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
