// Preloaded libraries link this: no iostream.
#include "os/files/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "os/files/descriptor.h"

namespace tasuki::os {
namespace {

constexpr int kWriteFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

// 0 or an errno.
int read_all(const std::string& path, std::string* text) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  char buffer[16384];
  for (;;) {
    const ssize_t n = read(file.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return 0;
    text->append(buffer, static_cast<size_t>(n));
  }
}

int write_all(const std::string& path, std::string_view text) {
  Fd file(open(path.c_str(), kWriteFlags, 0666));
  if (!file.valid()) return errno;
  while (!text.empty()) {
    const ssize_t n = write(file.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    text.remove_prefix(static_cast<size_t>(n));
  }
  // Some file systems say only now that there is no room.
  return close(file.release()) == 0 || errno == EINTR ? 0 : errno;
}

std::string replacement_of(const std::string& path) {
  return path + ".new";
}

}  // namespace

Status cannot_write(const std::string& path, int error) {
  return Status::error(error, path + ": cannot be written: " + strerror(error));
}

Result<std::string> read_file(const std::string& path) {
  std::string text;
  if (const int error = read_all(path, &text); error != 0)
    return Status::error(error, path + ": cannot be read: " + strerror(error));
  return text;
}

std::string file_or_empty(const std::string& path) {
  std::string text;
  return read_all(path, &text) == 0 ? text : std::string();
}

std::string first_line(const std::string& path) {
  const std::string text = file_or_empty(path);
  return text.substr(0, text.find('\n'));
}

Status write_file(const std::string& path, std::string_view text) {
  const int error = write_all(path, text);
  return error == 0 ? Status() : cannot_write(path, error);
}

Status replace_file(const std::string& path, std::string_view text) {
  const std::string part = replacement_of(path);
  int error = write_all(part, text);
  if (error == 0 && rename(part.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlink(part.c_str());
  return cannot_write(path, error);
}

Status can_replace(const std::string& path) {
  const std::string part = replacement_of(path);
  const Fd file(open(part.c_str(), kWriteFlags, 0666));
  if (!file.valid()) return cannot_write(path, errno);
  unlink(part.c_str());
  return {};
}

}  // namespace tasuki::os
