// Signal handlers of a guarded task. The kernel enters a handler with rights of its own, with which nothing
// of the task can be touched, not even the stack; so every handler is entered through a few instructions
// that set the task's rights first. sigreturn brings back those of the code that was interrupted.
//
// Not seen: handlers that are set by system calls without libc (Go's).
#pragma once

#include <signal.h>
#include <stdint.h>

namespace tasuki::task {

// What to do about a fault for which a key is the reason; it must not return to the instruction.
using KeyFault = void (*)(const siginfo_t* info, const ucontext_t* context);

// Once, by the first thread, whose register has the task's rights already: handlers that are set, and those
// that will be, by whatever function of libc. False: libc cannot be changed.
bool guard_handlers(uint32_t rights, KeyFault report);

}  // namespace tasuki::task
