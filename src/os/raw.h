// System calls without libc, for the short stretch between clone and the jump into a task's own interpreter:
// there the thread pointer still belongs to the parent, so errno and everything else in thread-local storage
// must not be touched. The result is the kernel's: -errno on failure.
//
//   long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0)
#pragma once

#if defined(__x86_64__) && defined(__linux__)
#include "os/arch/x86_64/calls.h"
#elif defined(__aarch64__) && defined(__linux__)
#include "os/arch/aarch64/calls.h"
#else
#error "src/os has an implementation for Linux on x86-64 and on aarch64 only"
#endif

namespace tasuki::os {

template <typename T>
long raw_arg(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace tasuki::os
