// The machine that this process runs on: what the reader of a measurement must know of it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tasuki::os {

struct MachineDescription {
  std::string cpu;  // empty, as the other texts: not known
  int64_t cores = 0;
  int64_t cores_usable = 0;  // by this process
  uint64_t memory_bytes = 0;
  std::string kernel, system;                            // "Linux 6.1.0", "Debian GNU/Linux 12 (bookworm)"
  std::string architecture;                              // "x86_64"
  std::vector<std::pair<std::string, uint64_t>> caches;  // "L1", bytes; those for instructions left out
  bool hypervisor = false;
  std::string governor;  // of the clock frequency
};

MachineDescription describe_machine();

// The kernel lets a process copy from the memory of another one, which MPI libraries do with large messages.
// Asked of this process itself: that the other one's user or a security module forbids it does not show.
bool has_cross_memory_attach();

}  // namespace tasuki::os
