// The mappings of this address space, read by raw system calls only: also where the loader or malloc may be
// broken, and without this library's own wrappers.
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "os/raw.h"

namespace tasuki::task {

// Calls look(begin, end, line) for one mapping after the other until it returns false. `buffer` holds a few
// lines at a time; the line is valid during the call. False if the list cannot be read.
template <size_t kCapacity, typename Look>
bool each_mapping(char (&buffer)[kCapacity], Look look) {
  const long fd = os::raw_syscall(SYS_openat, AT_FDCWD, os::raw_arg("/proc/self/maps"), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t held = 0;
  for (bool more = true; more;) {
    const long n = os::raw_syscall(SYS_read, fd, os::raw_arg(buffer + held),
                                   static_cast<long>(sizeof buffer - 1 - held));
    if (n <= 0) break;
    held += static_cast<size_t>(n);
    buffer[held] = '\0';
    char* line = buffer;
    for (char* newline; more && (newline = strchr(line, '\n')) != nullptr; line = newline + 1) {
      *newline = '\0';
      char* rest;
      const uintptr_t begin = strtoull(line, &rest, 16), end = strtoull(rest + 1, nullptr, 16);
      more = look(begin, end, line);
    }
    held = strlen(line);
    memmove(buffer, line, held + 1);
  }
  os::raw_syscall(SYS_close, fd);
  return true;
}

}  // namespace tasuki::task
