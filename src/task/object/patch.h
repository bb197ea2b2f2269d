// Calls inside libc and ld.so of their own functions do not go by name, so that no other definition can
// stand in for them: malloc calls mmap, pthread_create too. What such a call enters can be changed only where
// it is.
#pragma once

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "os/memory/mapping.h"
#include "os/raw.h"

namespace tasuki::task {

// From now on `function` is `target`. False: its code cannot be changed. The function must be 14 bytes long,
// and nothing may be executing it. No library function is called, since they may be on that page.
inline bool enter_instead(void* function, const void* target) {
  constexpr unsigned char kJump[] = {0xff, 0x25, 0, 0, 0, 0};  // jmp *0(%rip), then the address
  constexpr uintptr_t kLength = sizeof kJump + sizeof target;
  const uintptr_t at = reinterpret_cast<uintptr_t>(function), page = os::page_floor(at);
  const long length = static_cast<long>(os::page_ceil(at + kLength) - page);
  const long begin = static_cast<long>(page);
  // A thread that a library's constructor has started may be on the page; some systems forbid that way.
  if (os::raw_syscall(SYS_mprotect, begin, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 &&
      os::raw_syscall(SYS_mprotect, begin, length, PROT_READ | PROT_WRITE) != 0)
    return false;
  __builtin_memcpy(function, kJump, sizeof kJump);
  __builtin_memcpy(static_cast<char*>(function) + sizeof kJump, &target, sizeof target);
  return os::raw_syscall(SYS_mprotect, begin, length, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace tasuki::task
