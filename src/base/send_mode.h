// The modes of a send (MPI-4.0, 3.4). One type for every part that knows them: the shim, the message layer
// and the simulator's own MPI.
#pragma once

#include <cstdint>

namespace tasuki {

enum class SendMode : uint8_t { standard, synchronous, buffered, ready };

}  // namespace tasuki
