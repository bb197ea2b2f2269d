// Fork, on the parent's side. A child reads what the store has at that moment (forked_child.h), so the slots
// in use stay as they are as long as a descendant lives: pages that have changed since go to other slots.
#pragma once

#include <memory>
#include <vector>

#include "os/memory/descendants.h"
#include "pager/mappers/mapper.h"
#include "pager/pages/slots.h"

namespace tasuki::pager {

class Forks {
 public:
  Forks(Mapper* mapper, Slots* slots) : mapper_(mapper), slots_(slots) {}

  // Before fork and after it, in one turn, while nothing is under way. False: a child would have nothing, and
  // end() is not called.
  bool begin();
  void end();

  bool descendants() const { return !forks_.empty(); }
  // When nobody reads the old slots any more they are free. To be called every kLookSeconds while there are
  // descendants. False: nothing has changed.
  bool look(double now);

  static constexpr double kLookSeconds = .05;

 private:
  struct Fork {  // in the order of Slots' snapshots
    std::unique_ptr<os::Descendants> processes;
    bool gone = false;  // when it was looked for last
  };

  Mapper* mapper_;
  Slots* slots_;
  std::vector<Fork> forks_;
  double looked_ = 0;
};

}  // namespace tasuki::pager
