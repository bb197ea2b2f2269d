#include "os/files/disk_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace tasuki::os {
namespace {

// A block that is written again stays where it is, also in file systems that copy on write (btrfs): what was
// reserved for it serves for ever.
void write_in_place(int fd) {
  int flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) return;
  flags |= FS_NOCOW_FL;
  ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

}  // namespace

Result<Fd> unnamed_file(const char* directory) {
  Fd file(open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.valid()) {
    write_in_place(file.get());
    return moved_out_of_the_way(std::move(file));
  }
  const int reason = errno;
  if (reason == ENOENT || reason == ENOTDIR || reason == EACCES || reason == EROFS)
    return Status::error(reason, std::string(directory) + ": " + strerror(reason));
  // A file system, or a kernel, without O_TMPFILE.
  std::string name = std::string(directory) + "/tasuki-XXXXXX";
  file.reset(mkostemp(name.data(), O_CLOEXEC));
  if (!file.valid()) return Status::error(errno, name + ": " + strerror(errno));
  unlink(name.c_str());
  return moved_out_of_the_way(std::move(file));
}

int reserve_blocks(int fd, uint64_t had, uint64_t bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
    return EFBIG;
  int rc;
  while ((rc = fallocate(fd, 0, static_cast<off_t>(had), static_cast<off_t>(bytes - had))) != 0 &&
         errno == EINTR) {
  }
  if (rc == 0) return 0;
  if (errno != EOPNOTSUPP && errno != ENOSYS) {
    const int reason = errno;
    cut_off(fd, had);  // a part of it may be there
    return reason;
  }
  struct statvfs system;
  if (fstatvfs(fd, &system) == 0 && system.f_bavail * system.f_frsize < bytes - had) return ENOSPC;
  return ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

void cut_off(int fd, uint64_t bytes) {
  // It is only smaller than it might be if that fails.
  const int rc = ftruncate(fd, static_cast<off_t>(bytes));
  static_cast<void>(rc);
}

FileIdentity identity_of(int fd) {
  struct stat file;
  return fstat(fd, &file) == 0 ? FileIdentity{file.st_dev, file.st_ino} : FileIdentity();
}

bool bypass_page_cache(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  return flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
}

uint64_t free_disk_bytes(const char* directory) {
  struct statvfs system;
  return statvfs(directory, &system) == 0 ? uint64_t{system.f_bavail} * system.f_frsize : 0;
}

}  // namespace tasuki::os
