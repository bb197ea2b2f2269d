// System calls without libc, for the short stretch between clone and the jump into a task's own interpreter:
// there the thread pointer still belongs to the parent, so errno and everything else in thread-local storage
// must not be touched. The result is the kernel's: -errno on failure.
#pragma once

#include <sys/syscall.h>

namespace tasuki::os {

#if !defined(__x86_64__) || !defined(__linux__)
#error "src/os has an implementation for Linux on x86-64 only"
#endif

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <typename T>
long raw_arg(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace tasuki::os
