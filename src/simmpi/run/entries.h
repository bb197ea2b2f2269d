// The functions of MPI as programs see them; the table is generated (gen/simmpi.py).
#pragma once

#include <cstddef>
#include <string_view>

namespace tasuki::simmpi {

struct Entry {
  const char* name;  // "MPI_Send"
  void* function;
};
extern const Entry kEntries[];
extern const size_t kEntryCount;

// What a program means by a name: MPI_*, PMPI_*, tasuki_sim_*, or what belongs to a process (exit, clocks,
// random numbers...); nullptr: none of ours.
void* our_function(std::string_view name);

// The simulator does not have it: ends the simulation.
int missing(const char* name);

}  // namespace tasuki::simmpi
