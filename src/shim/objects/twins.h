// Receives from any source on mixed communicators, whose message may come from a task of this space or, by
// the MPI library, from elsewhere.
//
// Such a receive is posted twice: with the engine, where it is reserved (message/engine.h), and with the
// library. So it has its place among the receives of both, and the library receives for it in whatever call
// its owner waits. A message of this space that matches it waits until the owner looks; he then cancels the
// library's request, and where that succeeds the engine's has the message. Where it does not, the library has
// found another, and the one that waits goes to the next receive that matches. Nothing is ever taken twice,
// since only a request of which the library says that it is cancelled is satisfied here.
//
// What that costs, measured with both libraries: 80 ns to post, cancel and complete a request.
//
// The library's twin of a typed receive gets packed bytes where that is faster, as between two hosts anyway
// (hosts/remote.h); the engine's copies to the user's buffer as ever.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "message/engine.h"

namespace tasuki::shim {

using message::Engine;
using message::Request;

// What the MPI library has to do with a request of this layer, beside what it carries (hosts/remote.h).
enum class Twin : uint8_t {
  none,
  posted,     // the library may find a message for it
  cancelled,  // the library has been asked to forget it, and has not answered yet
  given_up,   // the same, for the user
  only,       // the library alone can complete it
  parts,      // a pair, of whose parts one has a twin
  operation,  // a collective operation that completes by HeldOperation::look()
};

class Carrier;

class Twins {
 public:
  explicit Twins(Engine& engine) : engine_(engine) {}
  void set_carrier(Carrier* carrier) { carrier_ = carrier; }
  void set_threads(bool threads) { threads_ = threads; }

  // The receive is posted with the engine, and with the library as this request.
  void add(Request* r, MPI_Request twin);
  // The library alone completes it.
  void add_only(Request* r, MPI_Request twin);

  // As Engine::poll, for requests that have a twin or parts with twins.
  bool poll(Request* r, bool stay);
  // Looks at those for which a message of this space waits; cheap where there are none.
  void serve() {
    if (__builtin_expect(engine_.contested(), 0)) serve_wanted();
  }
  // MPI_Cancel, of any request of the engine.
  void cancel(Request* r);

 private:
  void serve_wanted();
  void look(Request* r, bool stay);
  void settle(Request* r, const MPI_Status& status, int code);
  bool poll_operation(Request* r);

  Engine& engine_;
  Carrier* carrier_ = nullptr;
  bool threads_ = false;
  message::SpinLock lock_;  // the library's requests, and what follows; taken before the engine's locks
  std::vector<Request*> pending_;  // with both sides
};

}  // namespace tasuki::shim
