#include "os/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "os/files/descriptor.h"

namespace tasuki::os {
namespace {

Status cannot_write(std::string_view option, const std::string& path, int error) {
  return Status::error(error, std::string(option) + " " + path + ": cannot be written: " + strerror(error));
}

}  // namespace

Status check_output(std::string_view option, const std::string& path) {
  if (path.empty()) return {};
  struct stat there;
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) {
    // A pipe or a terminal: opening it could wait.
    return access(path.c_str(), W_OK) == 0 ? Status() : cannot_write(option, path, errno);
  }
  const Fd fresh(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (fresh.valid()) {
    unlink(path.c_str());
    return {};
  }
  if (errno != EEXIST) return cannot_write(option, path, errno);
  // Also a link to a file that is not there yet, which O_EXCL does not follow.
  const bool dangling = stat(path.c_str(), &there) != 0;
  const Fd old(open(path.c_str(), O_WRONLY | (dangling ? O_CREAT : 0) | O_CLOEXEC, 0666));
  return old.valid() ? Status() : cannot_write(option, path, errno);
}

Status write_output(std::string_view option, const std::string& path, std::string_view text) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.valid()) return cannot_write(option, path, errno);
  while (!text.empty()) {
    const ssize_t n = write(file.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot_write(option, path, errno);
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace tasuki::os
