// See os/context.h.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace tasuki::os {

struct Access {
  bool known, write, execute;
};

inline uintptr_t instruction_of(const ucontext_t& thread) {
  return thread.uc_mcontext.pc;
}
inline uintptr_t stack_pointer_of(const ucontext_t& thread) {
  return thread.uc_mcontext.sp;
}

inline void continue_at(ucontext_t* thread, void (*function)(), uintptr_t stack_end) {
  thread->uc_mcontext.sp = stack_end & ~uintptr_t{15};
  thread->uc_mcontext.pc = reinterpret_cast<uintptr_t>(function);
  thread->uc_mcontext.regs[29] = thread->uc_mcontext.regs[30] = 0;
}

// From the exception syndrome register, which the kernel hands over in one of the records behind the
// registers. Its layout: Arm Architecture Reference Manual, ESR_EL1. Not known where there is no such
// record (an emulator).
inline Access access_of(const ucontext_t& thread) {
  struct Record {
    uint32_t magic, bytes;
  };
  constexpr uint32_t kSyndrome = 0x45535201;  // ESR_MAGIC of asm/sigcontext.h
  const auto* const begin = reinterpret_cast<const char*>(thread.uc_mcontext.__reserved);
  const char* const end = begin + sizeof thread.uc_mcontext.__reserved;
  for (const char* at = begin; at + sizeof(Record) + sizeof(uint64_t) <= end;) {
    Record record;
    __builtin_memcpy(&record, at, sizeof record);
    if (record.magic == 0 || record.bytes < sizeof record) break;
    if (record.magic == kSyndrome) {
      uint64_t syndrome;
      __builtin_memcpy(&syndrome, at + sizeof record, sizeof syndrome);
      constexpr uint64_t kOfInstruction = 0x20;  // the class, a data abort has another one
      constexpr uint64_t kWrite = 1 << 6,
                         kCacheMaintenance = 1 << 8;  // the second says "write" for what is none
      const uint64_t kind = syndrome >> 26 & 0x3f;
      const bool execute = kind == kOfInstruction;
      return {true, !execute && (syndrome & (kWrite | kCacheMaintenance)) == kWrite, execute};
    }
    at += record.bytes;
  }
  return {false, false, false};
}

}  // namespace tasuki::os
