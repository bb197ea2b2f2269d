// Pins: units that the kernel is about to access where it cannot wait for a fault. They are made resident and
// stay until they are unpinned; all together hold a part of the local memory at most.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "pager/core/fault_loop.h"
#include "pager/threads/commands.h"

namespace tasuki::pager {

class Pins {
 public:
  Pins(const Regions* regions, Residency* residency, Swaps* swaps, FaultLoop* loop, Commands* commands)
      : regions_(*regions),
        residency_(residency),
        victims_(residency->victims()),
        swaps_(swaps),
        loop_(loop),
        commands_(commands) {}

  // As Pager says. Any thread of the program.
  size_t pin(const void* p, size_t bytes, bool write);
  void unpin(const void* p, size_t bytes);

  // No page reaches across the beginning of the unit any more, and each half has the pins of its own units.
  // False: it is on its way; to be called again.
  bool cut(Region* region, uint64_t unit);

  // What was pinned before the region was watched. Errors: ENOMEM; what is pinned then is not lost.
  Status hold(Region* region);
  void forget(const Region& region) { unwatched_.erase(region.id()); }

 private:
  using Range = std::pair<uint64_t, uint64_t>;  // units [first, end)

  struct Pinned {  // by a call that goes on
    const std::byte *begin, *end;
  };
  struct Pinning {  // what one call asks for
    const std::byte *begin, *end;
    const std::byte* next;  // pinned up to here
    bool write;
    Fault fault = {};                  // at `next`
    const std::byte* noted = nullptr;  // the end of its record in pinned_
  };

  // False: it must wait.
  bool go_on(Pinning* p);
  // The fault that the program's access would be. False: it must wait.
  bool fault(const Region& region, bool write, Pinning* p);
  void note(Pinning* p);
  int pins_of(const Region& region, uint64_t first, uint64_t end) const;
  void pin_unwatched(const Region& region, const std::byte* from, const std::byte* to);
  void unpin_piece(const Region& region, const std::byte* from, const std::byte* to);

  const Regions& regions_;
  Residency* residency_;
  Victims* victims_;
  Swaps* swaps_;
  FaultLoop* loop_;
  Commands* commands_;
  std::vector<Pinned> pinned_;                                  // of all regions
  std::unordered_map<uint32_t, std::vector<Range>> unwatched_;  // of regions that are not watched yet
};

}  // namespace tasuki::pager
