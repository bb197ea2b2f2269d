// What differs between the architectures in an ELF file. The files that are read are for the machine that
// reads.
#pragma once

#include <elf.h>

#include <cstdint>

#include "base/cpu.h"

namespace tasuki::elf {

// Programs get no address from here on.
inline constexpr uint64_t kUserSpaceEnd = uint64_t{1} << kAddressBits;

#if defined(__x86_64__)

inline constexpr uint16_t kMachine = EM_X86_64;
inline constexpr const char* kMachineName = "x86-64";
// Where programs look for glibc's dynamic linker.
inline constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";

// Relocations, by what they write into a word (or, kCopy, into a variable).
inline constexpr uint32_t kNone = R_X86_64_NONE,
                          kRelative = R_X86_64_RELATIVE,  // an address of the file's own
    kIndirect = R_X86_64_IRELATIVE,                       // what a function of the file's own returns
    kAddress = R_X86_64_64,                               // a symbol's address, and the addend
    kGlobal = R_X86_64_GLOB_DAT,                          // a symbol's address
    kFunction = R_X86_64_JUMP_SLOT,                       // the same, for calls
    kCopy = R_X86_64_COPY;                                // the bytes of a variable of a library
constexpr bool is_thread_local(uint32_t relocation) {
  return relocation == R_X86_64_DTPMOD64 || relocation == R_X86_64_DTPOFF64 ||
         relocation == R_X86_64_TPOFF64 || relocation == R_X86_64_TLSDESC;
}
// Whether kGlobal and kFunction have an addend, too.
inline constexpr bool kAddsToAll = false;

#elif defined(__aarch64__)

inline constexpr uint16_t kMachine = EM_AARCH64;
inline constexpr const char* kMachineName = "aarch64";
inline constexpr const char* kLoader = "/lib/ld-linux-aarch64.so.1";

inline constexpr uint32_t kNone = R_AARCH64_NONE, kRelative = R_AARCH64_RELATIVE,
                          kIndirect = R_AARCH64_IRELATIVE, kAddress = R_AARCH64_ABS64,
                          kGlobal = R_AARCH64_GLOB_DAT, kFunction = R_AARCH64_JUMP_SLOT,
                          kCopy = R_AARCH64_COPY;
constexpr bool is_thread_local(uint32_t relocation) {
  return relocation == R_AARCH64_TLS_DTPMOD || relocation == R_AARCH64_TLS_DTPREL ||
         relocation == R_AARCH64_TLS_TPREL || relocation == R_AARCH64_TLSDESC;
}
inline constexpr bool kAddsToAll = true;

#else
#error "src/elf reads files for x86-64 and aarch64 only"
#endif

}  // namespace tasuki::elf
