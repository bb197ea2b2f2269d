// Stands for src/os/process/signals.h.
#pragma once

namespace tasuki::os {

struct SignalsBlocked {
  SignalsBlocked() {}
};

}  // namespace tasuki::os
