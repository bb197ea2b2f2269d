#include "os/files/wakeup.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace tasuki::os {

Wakeup::Wakeup() : event_(moved_out_of_the_way(Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)))) {}

void Wakeup::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_.get(), &one, sizeof one);
}

bool Wakeup::clear() const {
  uint64_t count;
  return read(event_.get(), &count, sizeof count) == sizeof count;
}

}  // namespace tasuki::os
