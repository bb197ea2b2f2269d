// Memory that one process lends to another: a file without a name, which every holder may map, read and
// write. It is gone with its last holder, however that ends: nothing can be left behind, and no file system's
// size limits it (/dev/shm has 64 MiB in many containers).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "os/files/descriptor.h"

namespace tasuki::os {

// `bytes` bytes that read as zeros and take no memory until they are written. EFBIG: above RLIMIT_FSIZE,
// which counts here.
Result<Fd> memory_file(size_t bytes);

// The file behind a descriptor of another process of the same user. EACCES, ENOENT: /proc does not show it
// (another pid namespace, hidepid, a process that may not be examined).
Result<Fd> open_descriptor_of(pid_t pid, int fd);

// The whole file, for reading and writing; nothing is reserved. nullptr on failure, with errno.
void* map_memory_file(int fd, size_t bytes);
// The same exactly at `at`, not locked (mlockall): false if something is mapped there already.
bool map_memory_file_at(void* at, int fd, size_t bytes);

// Writes all of it at `offset`, without going through a mapping: where the file has no memory yet this costs
// half (no fault, no clearing). Measured at 64 KiB: 2.1 GB/s, against .95 by a copy through a mapping; where
// it has memory a copy is faster (5.3 against 8). 0, or an errno value: ENOSPC, ENOMEM.
int write_at(int fd, const void* from, size_t bytes, uint64_t offset);
// Reads all of it. ENODATA: the file ends before.
int read_at(int fd, void* to, size_t bytes, uint64_t offset);

// Gives the memory (or the disk blocks) behind the range back to the system; it reads as zeros from now on.
// Page aligned. False where the file system cannot do that.
bool punch_hole(int fd, uint64_t offset, uint64_t bytes);

// The same by the address where a memory file is mapped.
bool punch_hole_at(void* at, size_t bytes);

// Private memory becomes zeros and goes back to the system.
bool discard(void* at, size_t length);
// The same of memory that may be locked (mlock), which the kernel leaves as it is: it is not locked any more
// then.
bool discard_unlocked(void* at, size_t length);

// The kernel may back this private memory with huge pages.
void allow_huge_pages(void* at, size_t length);
// Other people's data, which a core file of this process must not show.
void keep_out_of_core_files(void* at, size_t length);
// Private memory gets its pages from the system now. False: there are no more (ENOMEM). Where a control
// group's limit is reached, the kernel ends a process instead: look before (os/memory/host_memory.h).
bool populate(void* at, size_t length);

}  // namespace tasuki::os
