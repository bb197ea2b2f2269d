// A fiber: a stack and where it goes on. Runs on the thread that resumes it, until it suspends itself. Never
// unwound: who destroys one that has not ended only unmaps its stack.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace tasuki::simmpi {

class Fiber {
 public:
  Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  // `entry` must end by suspending for good. The stack's pages are used up only when they are touched; below
  // it is a page that nobody may touch.
  Status start(size_t stack_bytes, void (*entry)(void*), void* argument);
  void resume();   // returns when the fiber suspends
  void suspend();  // called on the fiber itself; returns when it is resumed

  bool guards(const void* address) const;  // the address is in the page below the stack: an overflow

 private:
  void* context_ = nullptr;
  void* resumer_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
  char* mapping_ = nullptr;
  size_t length_ = 0;
};

}  // namespace tasuki::simmpi
