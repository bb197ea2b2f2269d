// Advice: what the program says about its accesses to come. Most of it only changes plans; keep_local makes
// pages resident and keeps them, within half of the local memory.
#pragma once

#include "pager/core/read_ahead.h"
#include "pager/core/swaps.h"
#include "pager/threads/commands.h"

namespace tasuki::pager {

class Advisor {
 public:
  Advisor(const Regions* regions, Residency* residency, Swaps* swaps, ReadAhead* read_ahead,
          Commands* commands)
      : regions_(*regions),
        residency_(residency),
        victims_(residency->victims()),
        swaps_(swaps),
        read_ahead_(read_ahead),
        commands_(commands) {}

  // As Pager says. Any thread of the program.
  Status advise(void* p, size_t bytes, Advice advice);

 private:
  void keep_no_more(const Region& region, uint64_t first, uint64_t end);
  void evict(const Region& region, uint64_t first, uint64_t end);
  // *promised: what this call was granted so far. False: it must wait. Errors go to *status.
  bool keep(Region* region, uint64_t first, uint64_t end, uint64_t* promised, Status* status);

  const Regions& regions_;
  Residency* residency_;
  Victims* victims_;
  Swaps* swaps_;
  ReadAhead* read_ahead_;
  Commands* commands_;
  uint64_t promised_units_ = 0;  // granted to calls of keep_local, and not kept yet
};

}  // namespace tasuki::pager
