// What the tasks of a space settle together about the ranks of the job, in the slot of the board that the
// message layer leaves to the shim.
#pragma once

#include <new>

#include "message/shared/shared.h"

namespace tasuki::shim {

struct Agreements {
  std::atomic<message::Decision> presence;  // whether all ranks of the job run Tasuki: presence.h
  // promise.h: members that have made it, and whether all ranks of the job keep it, once that is settled.
  std::atomic<uint32_t> promised;
  std::atomic<message::Decision> promise;
  std::atomic<uint32_t> promise_settled;
};
static_assert(sizeof(Agreements) <= message::Board::kOwnersBytes);

inline Agreements& agreements(message::Board* board) {
  return *std::launder(reinterpret_cast<Agreements*>(board->owners));
}

}  // namespace tasuki::shim
