// How much memory this host has for this process.
#pragma once

#include <cstdint>
#include <string>

namespace tasuki::os {

struct HostMemory {
  uint64_t physical = 0;   // of the host
  uint64_t total = 0;      // physical, or the control group's limit if that is less
  uint64_t available = 0;  // without swapping, now; never more than what the control group leaves
};

// From /proc/meminfo and the control groups (v1 and v2) of this process, all their parents included. Zeros if
// nothing can be read. `root` stands before every path: a recorded machine in tests.
HostMemory host_memory(const std::string& root = "");

uint64_t physical_memory();  // without control groups

}  // namespace tasuki::os
