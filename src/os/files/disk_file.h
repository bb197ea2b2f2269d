// A file without a name on a disk, for data that is nobody's but this process's: gone when it is closed.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "os/files/descriptor.h"

namespace tasuki::os {

// In `directory`. ENOENT, ENOTDIR, EACCES, EROFS: of the directory.
Result<Fd> unnamed_file(const char* directory);

// From now on its blocks have room for `bytes` bytes, `had` of which it had already: no write there fails for
// want of room. 0, or an errno value: ENOSPC, EDQUOT; EFBIG: above RLIMIT_FSIZE (nobody gets SIGXFSZ). Where
// the file system cannot reserve, only what is free now is looked at.
int reserve_blocks(int fd, uint64_t had, uint64_t bytes);
// What lies behind goes back to the file system.
void cut_off(int fd, uint64_t bytes);

// Which file a descriptor stands for: another one if the program has closed it and opened something else.
struct FileIdentity {
  uint64_t device = 0, inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
FileIdentity identity_of(int fd);

// Transfers between memory and disk, without a copy in the kernel's page cache (O_DIRECT): memory, offsets
// and lengths are then multiples of 4096. False: the file system cannot do that.
bool bypass_page_cache(int fd);

// What this user may still write in the file system of `directory`; 0: nothing, or there is none.
uint64_t free_disk_bytes(const char* directory);

}  // namespace tasuki::os
