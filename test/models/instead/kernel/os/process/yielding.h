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
  static uint32_t polls() { return 0; }
  void turn() { cpu_yield(); }
  void slept() {}
};

}  // namespace tasuki::os
