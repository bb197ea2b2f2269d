#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "os/files/descriptor.h"

namespace tasuki::pager {

// By which other threads end the sleep of one that polls. Any thread may wake.
class Wakeup {
 public:
  Wakeup() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  void wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
  }
  // From now on nobody has woken it. False: nobody had.
  bool clear() const {
    uint64_t count;
    return read(event_.get(), &count, sizeof count) == sizeof count;
  }
  int descriptor() const { return event_.get(); }  // readable from wake() to clear()

 private:
  os::Fd event_;
};

}  // namespace tasuki::pager
