// What a task unmaps and soon maps again. The tasks of a space share the lock of their address space, and
// what is unmapped goes out of the TLBs of all their cores: a cycle of mmap, touching and munmap of 64 KiB
// takes three times as long with two tasks as in a process of its own, eight times with eight (`tasuki
// bench space`). So what is private and anonymous, has been touched throughout, and is unmapped in one
// piece stays mapped, and the next mmap of its size gets it, cleared. Clearing 64 KiB takes 0.6 us, 1 MiB
// 11 us; to fault the pages in again takes 30 us and 400 us, alone on the machine.
//
// The program cannot tell, unless it touches what it has unmapped: whatever else it does at such an address
// finds nothing there, as the memory is given back first (give_back()). Memory whose properties were changed
// in any way (protection, advice, locks, NUMA policy, a part unmapped) is not kept; nor is any of a program
// that limits its address space or its system calls, or under --guard, which looks for stray accesses.
//
// Not seen: what is mapped and unmapped by system calls made without libc, or through what dlsym() finds.
//
// All functions are thread-safe, may be called in signal handlers, and take microseconds at most, but for
// what the kernel does.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace tasuki::task {

// These three: the caller blocks all signals, since a handler may call them too.
//
// Memory of exactly this length that reads as zeros, mapped as for note_plain(); nullptr if there is none.
void* take_kept(size_t length);
// mmap has returned this: private and anonymous, readable and writable, at an address that the kernel
// chose.
void note_plain(const void* at, size_t length);
// The program unmaps this. True: it is kept, and is not to be unmapped.
bool keep(void* at, size_t length);

// Something else is mapped there now.
void note_other(const void* at, size_t length);

// Something else is about to be done there: what is kept there is unmapped, and what else is there will not
// be kept. The addresses need not be aligned.
void give_back(const void* at, size_t length);

// All that is kept is unmapped: memory or room for mappings is short. True if there was any.
bool give_all_back();

// Nothing is kept from now on.
void keep_no_more();

inline bool failed(int result) {
  return result == -1;
}
inline bool failed(const void* result) {
  return result == MAP_FAILED;
}

// What `call` returns, a system call by way of libc. If there is no room, it is made again once all that is
// kept is given back.
template <typename Call>
auto with_room(Call call) {
  const int before = errno;
  const auto first = call();
  if (!failed(first) || errno != ENOMEM || !give_all_back()) return first;
  const auto second = call();
  if (!failed(second)) errno = before;
  return second;
}

}  // namespace tasuki::task
