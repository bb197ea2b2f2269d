// Requests: what a rank has begun and not finished.
#pragma once

#include <cstdint>
#include <functional>

#include "base/send_mode.h"
#include "layout/layout.h"
#include "simmpi/mpi.h"

namespace tasuki::simmpi {

struct Comm;
struct Datatype;
struct Packet;
struct Task;
struct Waiter;
class Rank;

struct Outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  int error = MPI_SUCCESS;
  uint64_t bytes = 0;
  bool cancelled = false;
};

struct Request {
  enum class Kind : uint8_t { send, receive, operation, generalized };
  static constexpr uint32_t kMagic = 0x52455155;
  uint32_t magic = kMagic;
  Kind kind = Kind::send;
  SendMode mode = SendMode::standard;
  bool persistent = false;
  bool active = true;
  bool complete = false;
  bool freed = false;  // by the user, while it was under way
  bool internal =
      false;  // of a collective: not logged as the program's, and always with its content if `control`
  bool control = false;  // content that MPI itself needs
  bool queued = false;   // a receive that waits for its message
  Rank* rank = nullptr;
  Comm* comm = nullptr;
  Datatype* type = nullptr;  // retained
  layout::Region region{nullptr, 0, nullptr};
  uint64_t from = 0, bytes = 0;  // the part of the region's packed bytes
  int peer = 0;                  // in the communicator's (remote) group, or MPI_ANY_SOURCE, MPI_PROC_NULL
  uint32_t peer_world = 0;
  int tag = 0;
  int self = 0;  // the sender's rank in its communicator
  uint64_t context = 0;
  uint64_t stamp = 0;  // order of posting
  int32_t nic = -1;
  int64_t gap = -1;  // in 1 / netsim::kGapUnit
  char* buffered = nullptr;
  Outcome outcome;
  Waiter* waiter = nullptr;
  uint64_t requested = 0;             // when it was called, for the log
  std::function<int()> operation;     // of a collective, for persistent ones
  std::function<void()> on_complete;  // called once, on whatever runs then
  // Generalized requests.
  MPI_Grequest_query_function* query = nullptr;
  MPI_Grequest_free_function* free_function = nullptr;
  MPI_Grequest_cancel_function* cancel_function = nullptr;
  void* extra = nullptr;
};

}  // namespace tasuki::simmpi
