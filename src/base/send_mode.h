// The modes of a send (MPI-4.0, 3.4). One type for every part that knows them: the shim, the message layer
// and the simulator's own MPI.
#pragma once

#include <cstdint>

namespace tasuki {

enum class SendMode : uint8_t { standard, synchronous, buffered, ready };

// What belongs to a mode: a function, a name.
template <typename What>
constexpr What by_mode(SendMode mode, What standard, What synchronous, What buffered, What ready) {
  switch (mode) {
    case SendMode::synchronous:
      return synchronous;
    case SendMode::buffered:
      return buffered;
    case SendMode::ready:
      return ready;
    default:
      return standard;
  }
}

}  // namespace tasuki
