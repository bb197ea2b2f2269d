// Stands for src/os/process/yielding.h: whoever waits so long has come too early; of its looks the checker
// has others, which come later.
#pragma once

#include <cstdint>

#include "os/process/cpu.h"

extern "C" void __VERIFIER_assume(bool);

namespace tasuki::os {

class Yielding {
 public:
  void turn() { __VERIFIER_assume(false); }
};

class CrowdedYielding {
 public:
  bool polls(uint32_t) const { return false; }
  void turn() { cpu_yield(); }
  void restart() {}
};

}  // namespace tasuki::os
