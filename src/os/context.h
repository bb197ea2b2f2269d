// What a signal handler is told about the thread that it interrupts (its third argument), by architecture.
//
//   uintptr_t instruction_of(const ucontext_t&)     where the thread was
//   uintptr_t stack_pointer_of(const ucontext_t&)
//   void continue_at(ucontext_t*, void (*function)(), uintptr_t stack_end)
//       when the handler returns, the thread enters the function, which must not return, on a stack that ends there
//   Access access_of(const ucontext_t&)             of a thread that has touched a page that is absent or protected
#pragma once

#if defined(__x86_64__)
#include "os/arch/x86_64/context.h"
#elif defined(__aarch64__)
#include "os/arch/aarch64/context.h"
#endif
