#pragma once

#include "os/files/descriptor.h"

namespace tasuki::os {

// By which other threads end the sleep of one that waits for descriptors. Any thread may wake.
class Wakeup {
 public:
  Wakeup();
  void wake() const;
  bool clear() const;                              // from now on nobody has woken it; false: nobody had
  int descriptor() const { return event_.get(); }  // readable from wake() to clear()

 private:
  Fd event_;
};

}  // namespace tasuki::os
