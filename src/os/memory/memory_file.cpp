#include "os/memory/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "os/memory/mapping.h"

namespace tasuki::os {

Result<Fd> memory_file(size_t bytes) {
  // ftruncate above the limit would not only fail: it sends SIGXFSZ.
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
    return Status::error(EFBIG, "the limit of file sizes (ulimit -f) is below the memory to lend");
  Fd file(memfd_create("tasuki", MFD_CLOEXEC));
  if (!file.valid()) return Status::error(errno, std::string("memfd_create: ") + strerror(errno));
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    return Status::error(errno, std::string("ftruncate of a memory file: ") + strerror(errno));
  return file;
}

Result<Fd> open_descriptor_of(pid_t pid, int fd) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file.valid()) return Status::error(errno, path + ": " + strerror(errno));
  return file;
}

void* map_memory_file(int fd, size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  return p == MAP_FAILED ? nullptr : p;
}

bool map_memory_file_at(void* at, int fd, size_t bytes) {
  // Kernels before 4.17 do not know MAP_FIXED_NOREPLACE and take the address for a wish.
  const int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  // Without access at first: of a process that locks what it maps (mlockall) the kernel would populate it.
  void* p = mmap(at, bytes, PROT_NONE, flags, fd, 0);
  if (p == at && munlock(p, bytes) == 0 && mprotect(p, bytes, PROT_READ | PROT_WRITE) == 0) return true;
  if (p != MAP_FAILED) munmap(p, bytes);
  return false;
}

bool punch_hole_at(void* at, size_t bytes) {
  return madvise(at, bytes, MADV_REMOVE) == 0;
}

int write_at(int fd, const void* from, size_t bytes, uint64_t offset) {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t n = pwrite(fd, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENOSPC;
    at += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return 0;
}

int read_at(int fd, void* to, size_t bytes, uint64_t offset) {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = pread(fd, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENODATA;
    at += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return 0;
}

bool punch_hole(int fd, uint64_t offset, uint64_t bytes) {
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                   static_cast<off_t>(bytes)) == 0;
}

bool discard(void* at, size_t length) {
  return madvise(at, length, MADV_DONTNEED) == 0;
}

bool discard_unlocked(void* at, size_t length) {
  return discard(at, length) || (munlock(at, length) == 0 && discard(at, length));
}

void allow_huge_pages(void* at, size_t length) {
  madvise(at, length, MADV_HUGEPAGE);
}

void keep_out_of_core_files(void* at, size_t length) {
  madvise(at, length, MADV_DONTDUMP);
}

bool populate(void* at, size_t length) {
#ifdef MADV_POPULATE_WRITE
  if (madvise(at, length, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
#endif
  // Before Linux 5.14.
  for (size_t i = 0; i < length; i += page_size()) static_cast<volatile char*>(at)[i] = 0;
  return true;
}

}  // namespace tasuki::os
