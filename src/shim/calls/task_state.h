// What one MPI process (a task) knows: its engine, and the tables of communicators, datatypes and requests.
// Globals exist once per task, because every task loads this library for itself.
#pragma once

#include <mpi.h>

#include <atomic>

#include "message/collectives/broadcast.h"
#include "message/collectives/joint.h"
#include "message/engine.h"
#include "message/transfers/helpers.h"
#include "shim/delegates.h"
#include "shim/errors.h"
#include "shim/hosts/remote.h"
#include "shim/hosts/span.h"
#include "shim/objects/attached.h"
#include "shim/objects/comm.h"
#include "shim/objects/datatype.h"
#include "shim/objects/messages.h"
#include "shim/objects/requests.h"
#include "shim/objects/targets.h"
#include "shim/objects/windows.h"

namespace tasuki::shim {

struct Process {
  Engine engine;
  Broadcaster broadcaster{engine};
  HelperThreads helpers;
  CommTable comms;
  SpanTable spans;
  TypeTable types;
  Targets targets{comms, types};
  AttachedBuffers attached{engine};
  Requests requests{engine, types, attached};
  Remote remote{engine, comms, types, requests};
  MessageTable messages;
  WindowTable windows{engine, comms};
  Board* board = nullptr;
  int world_rank = 0, world_size = 0;
  bool apart = false;    // the ranks of this node share a segment, not an address space
  bool threads = false;  // MPI_THREAD_MULTIPLE
  bool statistics = false;
  bool own_collectives = false;  // beside broadcasts and barriers; the same for all tasks of the space
  std::atomic<bool> library_testall_fails{false};  // it may carry out requests with which MPI_Testall fails
  uint64_t external_bytes = 0;                     // packed to and unpacked from "external32"
  MPI_Request never_done{};   // a generalized request: asking for it makes the library progress
  MPI_Comm quiet_comm{};      // a communicator for what the user must not notice
  uint32_t unsuccessful = 0;  // tests and probes in a row that found nothing
  message::JointPool joints;
};

extern Process g_process;

// nullptr: the library's.
inline Request* own(MPI_Request handle) {
  return g_process.requests.find(handle);
}

// Lets the MPI library progress: its own messages, one-sided operations, non-blocking collectives.
void library_progress();

// A test or probe found nothing: progress, and give the core away now and then when tasks outnumber cores.
void nothing_found();

}  // namespace tasuki::shim
