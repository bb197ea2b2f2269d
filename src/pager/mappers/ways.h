// The ways to catch faults, of which the pager uses the first that this machine permits.
#pragma once

#include "pager/mappers/mapper.h"
#include "pager/pager.h"

namespace tasuki::pager {

// The first way that was asked for and works; the error is the first one's. fault_ways() in pager.h lists
// them all.
Result<std::unique_ptr<Mapper>> make_mapper(const Options& options);

}  // namespace tasuki::pager
