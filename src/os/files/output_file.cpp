#include "os/files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "os/files/descriptor.h"
#include "os/files/text_file.h"

namespace tasuki::os {
namespace {

Status of_option(std::string_view option, const Status& status) {
  return status.ok() ? Status() : Status::error(status.err(), std::string(option) + " " + status.message());
}

Status cannot_write(std::string_view option, const std::string& path, int error) {
  return of_option(option, os::cannot_write(path, error));
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
  return of_option(option, write_file(path, text));
}

}  // namespace tasuki::os
