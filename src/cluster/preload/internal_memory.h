// malloc of the pager's and the MPI library's threads in programs that bring an allocator of their own
// (jemalloc, mimalloc): what that allocator maps may be cluster memory, and the pager's thread cannot wait
// for a page of its own. Any thread. Memory comes from one range of addresses, so that free() knows it.
#pragma once

#include <cstddef>

namespace tasuki::cluster::preload {

// alignment: a power of two. nullptr with ENOMEM.
void* take_internal(size_t bytes, size_t alignment);
bool is_internal(const void* p);
// Of what take_internal() gave.
void give_internal(void* p);
size_t internal_bytes(const void* p);

// Around a fork: nobody is in the middle of it.
void lock_internal();
void unlock_internal();

}  // namespace tasuki::cluster::preload
