// mprotect and what is like it: what the program may do with a part of a region. The kernel watches over it;
// the pager knows of it, so that no page is half of one kind and half of another.
#pragma once

#include "pager/core/pins.h"

namespace tasuki::pager {

class Protector {
 public:
  Protector(const Regions* regions, Mapper* mapper, Residency* residency, Pins* pins, Commands* commands)
      : regions_(*regions), mapper_(mapper), residency_(residency), pins_(pins), commands_(commands) {}

  // As Pager says. Any thread of the program.
  Status protect(void* p, size_t bytes, int protection);
  int protection(const void* p, size_t bytes) const;
  int known(const void* p, size_t bytes) const;  // the same, where nobody else is at work

 private:
  // False: a page is on its way; to be called again.
  bool prepare(Region* region, uint64_t first, uint64_t end, int protection);

  const Regions& regions_;
  Mapper* mapper_;
  Residency* residency_;
  Pins* pins_;
  Commands* commands_;
};

}  // namespace tasuki::pager
