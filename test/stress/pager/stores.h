// Places for pages that have left, of all kinds that differ for the pager, none of them beyond this machine's
// memory.
#pragma once

#include <memory>

#include "pager/stores/store.h"

namespace tasuki::stress {

struct Stores {
  const char* name = "";
  std::unique_ptr<pager::Store> below, store;  // `below` is behind the other one, if there is one
};
Stores make_stores(uint64_t number, uint64_t slots, uint64_t seed);

}  // namespace tasuki::stress
