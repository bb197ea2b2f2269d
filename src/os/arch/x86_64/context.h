// See os/context.h.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace tasuki::os {

struct Access {
  bool known, write, execute;
};

inline uintptr_t instruction_of(const ucontext_t& thread) {
  return static_cast<uintptr_t>(thread.uc_mcontext.gregs[REG_RIP]);
}
inline uintptr_t stack_pointer_of(const ucontext_t& thread) {
  return static_cast<uintptr_t>(thread.uc_mcontext.gregs[REG_RSP]);
}

inline void continue_at(ucontext_t* thread, void (*function)(), uintptr_t stack_end) {
  // As if it had been called: a return address below a multiple of 16.
  thread->uc_mcontext.gregs[REG_RSP] = static_cast<greg_t>((stack_end & ~uintptr_t{15}) - 8);
  thread->uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(function);
}

inline Access access_of(const ucontext_t& thread) {
  constexpr greg_t kWrite = 2, kExecute = 16;  // of the processor's page fault error code
  const greg_t error = thread.uc_mcontext.gregs[REG_ERR];
  return {true, (error & kWrite) != 0, (error & kExecute) != 0};
}

}  // namespace tasuki::os
