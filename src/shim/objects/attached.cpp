#include "shim/objects/attached.h"

#include "shim/objects/handle_map.h"

namespace tasuki::shim {

void AttachedBuffers::attach(uint64_t* part, uint64_t bytes) {
  const LockIf guard(threads_, lock_);
  *part += bytes;
  bytes_ += bytes;
}

uint64_t AttachedBuffers::release(uint64_t* part) {
  const LockIf guard(threads_, lock_);
  number_ = engine_.next_attachment();
  used_ = 0;
  if (part == nullptr) return 0;
  const uint64_t bytes = *part;
  bytes_ -= bytes;
  *part = 0;
  return bytes;
}

// What was released is taken and counted under one lock: else another thread could find the buffer full that
// is not, or detach it in between.
bool AttachedBuffers::charge(Request* r, uint64_t bytes) {
  const LockIf guard(threads_, lock_);
  used_ -= engine_.take_released();
  if (used_ + bytes > bytes_) return false;
  used_ += bytes;
  r->charged = bytes;
  r->attachment = number_;
  return true;
}

void AttachedBuffers::refund(const Request* r) {
  const LockIf guard(threads_, lock_);
  if (r->attachment == number_) used_ -= r->charged;
}

}  // namespace tasuki::shim
