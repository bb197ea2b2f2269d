// What every store must do, as a program against the interface: random puts, gets and releases, many in
// flight, compared with what was put last. Used by unit tests and, under a launcher, by test/cluster.
#pragma once

#include <cstdint>
#include <string>

#include "pager/stores/store.h"

namespace tasuki::pager {

struct Conformance {
  uint64_t seed = 1;
  uint64_t operations = 20'000;
  uint32_t in_flight = 16;
  uint32_t longest = 16;         // units of one transfer
  bool compressible = false;     // contents that LZ4 shrinks, among others
  double give_up_after_s = 100;  // a store that never completes
};

// Empty, or what the store did wrong.
std::string check_store(Store& store, const Conformance& options);

}  // namespace tasuki::pager
