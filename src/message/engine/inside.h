// What the files of the engine share (engine.h): how a message gets to a receive.
#pragma once

#include <algorithm>

#include "message/engine.h"
#include "message/transfers/staged.h"
#include "os/memory/keys.h"

namespace tasuki::message {

// A receive that has got its message, but for the bytes.
inline void set_result(Request* r, int32_t source_rank, int32_t tag, uint64_t bytes) {
  r->status_source = source_rank;
  r->status_tag = tag;
  r->status_bytes = std::min(bytes, r->room);
  r->truncated = bytes > r->room;
  if (r->truncated != 0) r->envelope.bytes = bytes;
}

inline void deliver_packed(Request* r, const char* data, int32_t source_rank, int32_t tag, uint64_t bytes) {
  set_result(r, source_rank, tag, bytes);
  const os::WritesAllowed allowed;  // a sender may do this for the receiver
  if (r->status_bytes != 0) layout::unpack(r->region, 0, r->status_bytes, data);
  complete(r);
}

// A staged message to its receive, which another thread may be waiting for.
inline void give_to(Request* r, Staging& s, const StagedHead& head, uint64_t bytes) {
  Endpoint* owner = r->owner;
  give_staged(r, s, head, bytes);
  wake(owner);
}

}  // namespace tasuki::message
