// The shared segment: what ranks of a node have in common that cannot share an address space (a program that
// is not position independent, limited memory), or shall not (TASUKI_SPACE=off). The host of the node makes
// it, a memory file without a name, and hands it to each proxy, which hands it to the program that it
// executes. The program maps it in MPI_Init, at the same address in all processes, so that what lies in it
// may hold addresses of what lies in it.
//
// It begins with a Space of as many tasks as the node has ranks, whose slots these processes take; its roots
// are the layers' as in an address space. None of its tasks is ever started. Behind it each process has a
// slice of its own, from which it takes the memory that others are to see.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"
#include "os/files/descriptor.h"
#include "task/space.h"

namespace tasuki::task {

// By the host: an empty segment for so many ranks.
Result<os::Fd> make_segment(uint32_t ranks);

// By a proxy: tells the program that this process is about to execute of the segment behind the descriptor,
// which it inherits. `index`: the rank among those of its node. What the program starts itself knows by its
// pid that it is not meant.
inline constexpr const char* kSeatVariable = "TASUKI_SEAT";
std::string name_segment(const os::Fd& segment, uint32_t index);

// Whether this process, and what it executes, can map one: the kernel would count all of it against a limit
// of addresses (ulimit -v), and the program have less for itself.
bool has_room_for_segment();

struct Seat {
  TaskSlot* slot;  // nullptr: there is no segment, or it does not fit into this process
  char* slice;     // this process's memory: zeros, of which only what is written takes any
  uint64_t slice_bytes;
};
// By the program: maps it, and takes its seat. To be called once.
Seat take_seat();

}  // namespace tasuki::task
