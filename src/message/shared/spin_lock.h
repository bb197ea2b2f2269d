// The lock of the message layer.
#pragma once

#include <atomic>
#include <cstdint>

namespace tasuki::message {

// Test-and-set lock for critical sections of some ten to some hundred nanoseconds. Yields its core when the
// holder does not run (more ranks than cores is normal). Who comes while another waits lets that one go
// first: a rank that probes in a loop would else get its own lock back before anybody else sees it free, for
// milliseconds.
class SpinLock {
 public:
  void lock();
  void unlock() { word_.store(0, std::memory_order_release); }

 private:
  std::atomic<uint32_t> word_{0};
  std::atomic<uint32_t> waiters_{0};
};

}  // namespace tasuki::message
