// What a file takes, of memory or of a disk.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace tasuki::os {

// UINT64_MAX: there is no such file.
inline uint64_t bytes_taken(int fd) {
  struct stat s;
  return fstat(fd, &s) == 0 ? static_cast<uint64_t>(s.st_blocks) * 512 : UINT64_MAX;
}

}  // namespace tasuki::os
