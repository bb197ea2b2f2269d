// See os/raw.h and os/process/process.h.
#pragma once

#include <sys/syscall.h>

namespace tasuki::os {

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

namespace arch {

// clone(2): the child calls entry(arg) on the other stack.
inline long clone_to(void (*entry)(void*), void* arg, void* stack_top, unsigned long flags, void* pid) {
  long result;
  register long r10 asm("r10") = 0;
  register long r8 asm("r8") = 0;
  register void* fn asm("r12") = reinterpret_cast<void*>(entry);
  register void* fn_arg asm("r13") = arg;
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "movq %%r13, %%rdi\n\t"
      "callq *%%r12\n\t"
      "ud2\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone), "D"(flags), "S"(stack_top), "d"(pid), "r"(r10), "r"(r8), "r"(fn), "r"(fn_arg)
      : "rcx", "r11", "memory");
  return result;
}

[[noreturn]] inline void jump_to(const void* entry, const void* stack) {
  // rdx = 0: no function for the program to register with atexit.
  asm volatile(
      "movq %0, %%rsp\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "xorl %%edx, %%edx\n\t"
      "jmpq *%1"
      :
      : "r"(stack), "a"(entry)
      : "memory", "rdx");
  __builtin_unreachable();
}

}  // namespace arch
}  // namespace tasuki::os
