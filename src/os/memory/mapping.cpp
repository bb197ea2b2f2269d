#include "os/memory/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace tasuki::os {
namespace {

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

void* map_anonymous(size_t length, int protection, void* at, int flags) {
  flags |= MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (at != nullptr) flags |= MAP_FIXED_NOREPLACE;
  void* p = mmap(at, length, protection, flags, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  if (at != nullptr && p != at) {  // a kernel before 4.17 takes the address as a hint
    munmap(p, length);
    errno = EEXIST;
    return nullptr;
  }
  return p;
}

}  // namespace

void* reserve(size_t length, void* at) {
  return map_anonymous(length, PROT_NONE, at, 0);
}

void* map_memory(size_t length, void* at) {
  return map_anonymous(length, PROT_READ | PROT_WRITE, at, 0);
}

void* map_shared(size_t length) {
  void* p = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

bool map_file_over(void* at, size_t length, int protection, int fd, uint64_t offset) {
  return mmap(at, length, protection, MAP_PRIVATE | MAP_FIXED, fd, static_cast<off_t>(offset)) != MAP_FAILED;
}

bool map_memory_over(void* at, size_t length, int protection) {
  return mmap(at, length, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

bool map_stack_over(void* at, size_t length) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED | MAP_STACK | MAP_GROWSDOWN;
  return mmap(at, length, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}

bool unmap(void* at, size_t length) {
  return munmap(at, length) == 0;
}

bool protect(void* at, size_t length, int protection) {
  return mprotect(at, length, protection) == 0;
}

void* take_pages(void* at, size_t length) {
  // libc and the kernel look at an address with this flag, too.
  void* const away = mremap(at, length, length, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, nullptr);
  return away != MAP_FAILED ? away : nullptr;
}

bool remap_over(void* from, size_t length, void* to) {
  return mremap(from, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED;
}

void unlock(void* at, size_t length) {
  munlock(at, length);
}

void no_huge_pages(void* at, size_t length) {
  madvise(at, length, MADV_NOHUGEPAGE);
}

bool wipe_on_fork(void* at, size_t length) {
  return madvise(at, length, MADV_WIPEONFORK) == 0;
}

size_t count_mappings() {
  const int fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t lines = 0;
  char buffer[16384];
  ssize_t n;
  while ((n = read(fd, buffer, sizeof buffer)) > 0)
    for (ssize_t i = 0; i < n; i++) lines += buffer[i] == '\n';
  close(fd);
  return lines;
}

size_t mapping_limit() {
  size_t limit = 65530;
  const int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return limit;
  char text[32] = {};
  if (read(fd, text, sizeof text - 1) > 0) limit = strtoull(text, nullptr, 10);
  close(fd);
  return limit;
}

}  // namespace tasuki::os
