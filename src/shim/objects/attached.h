// What buffered sends may take of the buffers that the user has attached (MPI_Buffer_attach). Their messages
// never lie there, but they count against it, as MPI says.
//
// Each buffer by itself is large enough for a correct program's messages, so all together are: one account
// for the process's and those of communicators (MPI-4.1).
#pragma once

#include "message/engine.h"

namespace tasuki::shim {

using message::Engine;
using message::Request;

class AttachedBuffers {
 public:
  explicit AttachedBuffers(Engine& engine) : engine_(engine) {}
  void set_threads(bool threads) { threads_ = threads; }

  // `part` is what one buffer contributes: process_part() or that of a communicator.
  void attach(uint64_t* part, uint64_t bytes);
  // The buffers may be used anew: nothing counts against them any more. Takes `part` out, nullptr: nothing,
  // and returns its bytes.
  uint64_t release(uint64_t* part);
  uint64_t* process_part() { return &process_part_; }

  // Room for a buffered send; false if there is none.
  bool charge(Request* r, uint64_t bytes);
  // The send could not be started.
  void refund(const Request* r);

 private:
  Engine& engine_;
  bool threads_ = false;
  message::SpinLock lock_;  // what follows; taken before the engine's locks
  uint64_t bytes_ = 0, used_ = 0;
  uint64_t process_part_ = 0;
  uint32_t number_ = 0;  // which of the attached buffers, counted, that is
};

}  // namespace tasuki::shim
