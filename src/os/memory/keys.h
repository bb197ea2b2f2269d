// Memory protection keys (pkeys(7)): each page of an address space carries one of 16 numbers, and each thread
// has a register that says which numbers it may not write. The register is changed by an instruction of some
// tens of cycles, not by a system call; so a thread can open what is closed for it for the time of one copy.
//
// New mappings have key 0. The kernel keeps the key of a page through mprotect, mremap and fork. New threads
// and forked children inherit the register. A signal handler is entered with the kernel's own value, with
// which nothing but key 0 can be read or written.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include "os/arch/x86_64/keys.h"
#elif defined(__aarch64__)
#include "os/arch/aarch64/keys.h"
#endif

namespace tasuki::os {

inline constexpr int kKeys = 16;  // of the hardware; 0 is every new page's

// Whether the processor and the kernel have them.
bool have_keys();

// A key of this address space with which every thread that starts later may do everything; -1: none is left.
int take_key();

// `protection`: PROT_*, as of mprotect. Also for pages that only a raw system call may touch: does not use
// errno.
bool set_key(void* at, size_t length, int protection, int key);

// uint32_t key_rights(), void set_key_rights(uint32_t): the register. Bit 2k keeps the thread from reading
// and writing pages of key k, bit 2k + 1 from writing.

constexpr uint32_t write_disabled(int key) {
  return uint32_t{2} << (2 * key);
}

// Whether pages of other tasks are closed for this one (task/object/guard.cpp). Each library of Tasuki's has
// a variable of its own, and sets it once, before it has a second thread.
inline bool g_guarded = false;

// For as long as it lives this thread may write everywhere: for copies to another task's memory. Without
// keys: one look at a variable.
class WritesAllowed {
 public:
  WritesAllowed() {
    if (__builtin_expect(g_guarded, 0)) {
      before_ = key_rights();
      set_key_rights(0);
    }
  }
  ~WritesAllowed() {
    if (__builtin_expect(g_guarded, 0)) set_key_rights(before_);
  }
  WritesAllowed(const WritesAllowed&) = delete;
  WritesAllowed& operator=(const WritesAllowed&) = delete;

 private:
  uint32_t before_ = 0;
};

// map_memory (mapping.h) of memory that all tasks may write. nullptr: none (errno).
void* map_open_memory(size_t length);

}  // namespace tasuki::os
