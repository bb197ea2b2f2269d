// TASUKI_FAULTS=on: a task that dies of a fault says first where, in one write, with what is mapped there. By
// raw system calls only: the fault may have come from anywhere, the loader and malloc included.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/settings.h"
#include "os/context.h"
#include "os/raw.h"
#include "task/maps.h"
#include "task/space.h"

namespace {

using tasuki::os::raw_arg;
using tasuki::os::raw_syscall;

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

// The line of /proc/self/maps that holds the address; "" if nothing is mapped there.
void find_mapping(uintptr_t address, char* line, size_t capacity) {
  line[0] = '\0';
  static char buffer[8192];  // the stack may be small
  tasuki::task::each_mapping(buffer, [&](uintptr_t begin, uintptr_t end, const char* found) {
    if (address < begin || address >= end) return true;
    strncpy(line, found, capacity - 1);
    line[capacity - 1] = '\0';
    return false;
  });
}

void on_fault(int number, siginfo_t* info, void* context) {
  static int reporting = 0;
  const tasuki::task::TaskSlot* slot = tasuki::task::loaded_for();
  if (slot != nullptr && __atomic_exchange_n(&reporting, 1, __ATOMIC_ACQ_REL) == 0) {
    const auto& thread = *static_cast<const ucontext_t*>(context);
    const uintptr_t instruction = tasuki::os::instruction_of(thread),
                    stack = tasuki::os::stack_pointer_of(thread);
    const uintptr_t address = reinterpret_cast<uintptr_t>(info->si_addr);
    static char there[256], code[256], text[1024];
    find_mapping(address, there, sizeof there);
    find_mapping(instruction, code, sizeof code);
    const int n =
        snprintf(text, sizeof text,
                 "tasuki: task %u (process %d) dies of signal %d, code %d, at address 0x%lx [%s]\n"
                 "tasuki: task %u: the instruction at 0x%lx [%s], stack pointer 0x%lx, stack 0x%lx-0x%lx\n",
                 slot->index, static_cast<int>(raw_syscall(SYS_getpid)), number, info->si_code,
                 static_cast<unsigned long>(address), there[0] != '\0' ? there : "nothing is mapped",
                 slot->index, static_cast<unsigned long>(instruction),
                 code[0] != '\0' ? code : "nothing is mapped", static_cast<unsigned long>(stack),
                 static_cast<unsigned long>(slot->stack_begin), static_cast<unsigned long>(slot->stack_end));
    if (n > 0)
      raw_syscall(SYS_write, 2, raw_arg(text),
                  n < static_cast<int>(sizeof text) ? n : static_cast<long>(sizeof text) - 1);
  }
  // The instruction faults again, or the signal that was sent comes again, and ends the process as it would
  // have.
  signal(number, SIG_DFL);
  if (info->si_code <= 0) raw_syscall(SYS_tgkill, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), number);
}

__attribute__((constructor)) void watch_faults() {
  if (tasuki::task::self() == nullptr || !tasuki::setting_flag("TASUKI_FAULTS")) return;
  // Of its own: the task's stack may be what has overflowed.
  constexpr size_t kStack = 64 << 10;
  void* memory = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  const stack_t alternate = {memory, 0, kStack};
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (const int number : kFaults) {
    struct sigaction users;
    if (sigaction(number, nullptr, &users) == 0 && users.sa_handler == SIG_DFL)
      sigaction(number, &action, nullptr);
  }
}

}  // namespace
