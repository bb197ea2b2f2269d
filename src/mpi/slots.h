// Between the generated functions of a family and what fills their table.
#pragma once

#include <atomic>

#include "mpi/library.h"

namespace tasuki::mpi {

// Generated. A name of the library, and where its address goes; the last one has no name.
struct Slot {
  const char* name;
  void** address;
};
extern const Slot kSlots[];
extern const Slot kProgramSlots[] __attribute__((weak));  // there where an MPI_X is called
extern const MpiAbi kFamily;

extern std::atomic<bool> g_loaded;
void load_or_end();

inline void need_library() {
  if (__builtin_expect(!g_loaded.load(std::memory_order_acquire), 0)) load_or_end();
}

}  // namespace tasuki::mpi
