// See os/raw.h and os/process/process.h.
#pragma once

#include <sys/syscall.h>

namespace tasuki::os {

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
}

namespace arch {

// clone(2): the child calls entry(arg) on the other stack. The kernel keeps all registers but x0, in both.
inline long clone_to(void (*entry)(void*), void* arg, void* stack_top, unsigned long flags, void* pid) {
  register long x8 asm("x8") = SYS_clone;
  register long x0 asm("x0") = static_cast<long>(flags);
  register void* x1 asm("x1") = stack_top;
  register void* x2 asm("x2") = pid;
  register long x3 asm("x3") = 0;
  register long x4 asm("x4") = 0;
  register void* fn asm("x9") = reinterpret_cast<void*>(entry);
  register void* fn_arg asm("x10") = arg;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x30, xzr\n\t"
      "mov x0, x10\n\t"
      "blr x9\n\t"
      "brk #1\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(fn), "r"(fn_arg)
      : "x30", "memory");
  return x0;
}

[[noreturn]] inline void jump_to(const void* entry, const void* stack) {
  // x0 = 0: no function for the program to register with atexit.
  register const void* code asm("x9") = entry;
  asm volatile(
      "mov sp, %0\n\t"
      "mov x29, xzr\n\t"
      "mov x30, xzr\n\t"
      "mov x0, xzr\n\t"
      "br %1"
      :
      : "r"(stack), "r"(code)
      : "memory");
  __builtin_unreachable();
}

}  // namespace arch
}  // namespace tasuki::os
