// Cache lines that another core has.
#pragma once

#include "base/cpu.h"
#include "message/shared/shared.h"

namespace tasuki::message {

// Asks for lines of another core's all at once; one by one, each takes as long as the first. On far cores, in
// us, without and with: SPECFEM3D_oc 12.9 KB 11.4 and 8.6, NAS_MG_x 32 KiB 22 and 19.
template <bool to_write>
void fetch_lines(const char* at, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i += kLine) {
    if constexpr (to_write)
      fetch_to_write(at + i);
    else
      __builtin_prefetch(at + i);
  }
}

}  // namespace tasuki::message
