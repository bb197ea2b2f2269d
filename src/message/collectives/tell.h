// Small messages that the members of a communicator send each other within collective operations: in a
// context of their own, so that the rings, the matching and the order of point-to-point messages serve here
// too.
#pragma once

#include "message/engine.h"

namespace tasuki::message {

// A task among the members of a communicator.
struct Member {
  uint32_t context;  // of the communicator
  int rank;          // of this task
  int count;
  const int* slots;  // by rank
};

// The others, each task beginning with the one behind it: not all with the same. Ends with the first for
// which what(rank) is false, and returns that.
template <typename What>
bool for_others(const Member& me, What what) {
  for (int i = 1; i < me.count; i++)
    if (!what((me.rank + i) % me.count)) return false;
  return true;
}

// To all others: up to kInlineBytes. `kind` is the tag (engine.h).
void tell_others(Engine& engine, const Member& me, int32_t kind, const char* data, uint32_t bytes);

// What was told.
struct Told {
  int32_t kind = 0;
  uint64_t bytes = 0;  // at most as many as there is room for
  bool too_long = false;
};

// Waits for what `from` tells next. False, with nothing received: no memory.
bool hear(Engine& engine, const Member& me, int from, const layout::Region& into, Told* told);

}  // namespace tasuki::message
