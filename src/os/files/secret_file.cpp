#include "os/files/secret_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "os/files/descriptor.h"

namespace tasuki::os {

Status read_secret(const std::string& file, void* to, size_t bytes) {
  const Fd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about;
  if (!fd.valid() || fstat(fd.get(), &about) != 0) return Status::error(errno, file + ": " + strerror(errno));
  if (!S_ISREG(about.st_mode)) return Status::error(EINVAL, file + " is no regular file");
  if (about.st_uid != geteuid() && about.st_uid != 0)
    return Status::error(EACCES, file + " is another user's");
  if ((about.st_mode & 077) != 0)
    return Status::error(EACCES, file + " can be read by others, and is no secret: chmod 600 it");
  char more;
  if (read(fd.get(), to, bytes) != static_cast<ssize_t>(bytes) || read(fd.get(), &more, 1) != 0)
    return Status::error(EINVAL, file + " does not have " + std::to_string(bytes) + " bytes: delete it");
  return {};
}

Status make_secret(const std::string& file, void* to, size_t bytes) {
  for (size_t slash = 1; (slash = file.find('/', slash)) != std::string::npos; slash++)
    mkdir(file.substr(0, slash).c_str(), 0700);  // what cannot be made is missed below
  // It is complete when it gets its name, which only one does.
  std::string fresh = file + ".XXXXXX";
  {
    const Fd fd(mkostemp(fresh.data(), O_CLOEXEC));  // only its user may read it
    if (!fd.valid() || getrandom(to, bytes, 0) != static_cast<ssize_t>(bytes) ||
        write(fd.get(), to, bytes) != static_cast<ssize_t>(bytes)) {
      const int error = errno;
      if (fd.valid()) unlink(fresh.c_str());
      return Status::error(error, file + " cannot be written: " + strerror(error));
    }
  }
  const bool named = link(fresh.c_str(), file.c_str()) == 0 || errno == EEXIST;
  const int error = errno;
  unlink(fresh.c_str());
  if (!named) return Status::error(error, file + " cannot be written: " + strerror(error));
  return read_secret(file, to, bytes);
}

}  // namespace tasuki::os
