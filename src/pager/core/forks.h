// Fork, on the parent's side. A child reads what the store has at that moment (forked_child.h), so the slots
// in use stay as they are as long as a descendant lives: pages that have changed since go to other slots.
#pragma once

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

  bool descendants() const { return slots_->any_frozen(); }
  // When nobody reads the old slots any more they are free. To be called every kLookSeconds while there are
  // descendants. False: nothing has changed.
  bool look(double now);

  static constexpr double kLookSeconds = .05;

 private:
  Mapper* mapper_;
  Slots* slots_;
  os::Descendants descendants_;
  double looked_ = 0;
  bool gone_ = false;  // when it was looked for last
};

}  // namespace tasuki::pager
