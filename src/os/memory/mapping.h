// Memory mappings. Addresses and lengths that go in are page aligned unless said otherwise. What fails
// returns nullptr or false and leaves the reason in errno.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace tasuki::os {

using tasuki::kLargestPage;
using tasuki::page_size;
inline uintptr_t page_floor(uintptr_t x) {
  return x & ~(page_size() - 1);
}
inline uintptr_t page_ceil(uintptr_t x) {
  return (x + page_size() - 1) & ~(page_size() - 1);
}

// Address space without memory behind it. `at` != nullptr: exactly there, failing if something is mapped
// there already.
void* reserve(size_t length, void* at = nullptr);

// Zero-filled private memory, counted against the commit limit only as it is touched where the kernel allows
// that.
void* map_memory(size_t length, void* at = nullptr);

// Zero-filled memory that a forked child shares with its parent (no file behind it: RLIMIT_FSIZE does not
// count).
void* map_shared(size_t length);

// Puts `length` bytes of a file at `at`, inside a reservation of the caller: replaces what is mapped there.
// `protection` is a union of PROT_*; offset is page aligned.
bool map_file_over(void* at, size_t length, int protection, int fd, uint64_t offset);
bool map_memory_over(void* at, size_t length, int protection);

// A stack of which the loader can say PROT_GROWSDOWN, as of the kernel's: for programs and libraries that
// want an executable stack. Fixed in size by what is reserved below it.
bool map_stack_over(void* at, size_t length);

bool unmap(void* at, size_t length);
bool protect(void* at, size_t length, int protection);

// The pages of a range of private memory are at the address that is returned from now on, and the range is
// mapped as before, but empty: a userfaultfd that watches it hears of accesses. nullptr: Linux before 5.7,
// too many mappings.
void* take_pages(void* at, size_t length);
// What is mapped at `from` is at `to` from now on, in place of what is there.
bool remap_over(void* from, size_t length, void* to);

// What is locked (mlock, mlockall) is not any more.
void unlock(void* at, size_t length);

// Keeps the kernel from backing the range with huge pages.
void no_huge_pages(void* at, size_t length);

// The range reads as zeros in a forked child. False where the kernel cannot do that.
bool wipe_on_fork(void* at, size_t length);

// The break of this address space moves no more, up or down, whoever asks (os/memory/break.h): every libc
// then takes memory from mmap.
bool stop_the_break();

// Lines of /proc/self/maps.
size_t count_mappings();

// The kernel's limit of mappings per address space (vm.max_map_count), 65530 if it cannot be read.
size_t mapping_limit();

}  // namespace tasuki::os
