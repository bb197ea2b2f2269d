// Whether tests have started tasks on this architecture. Elsewhere `tasuki run` runs programs plainly, and
// says so: to try tasks there, change this.
#pragma once

#include "elf/machine.h"

namespace tasuki::task {

inline constexpr bool kHaveBeenTried = elf::kMachine == EM_X86_64;

}  // namespace tasuki::task
