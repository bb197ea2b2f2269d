#include "os/files/streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tasuki::os {

int wait_for(Awaited* list, size_t count, int timeout_ms) {
  static_assert(sizeof(Awaited) == sizeof(pollfd) && alignof(Awaited) == alignof(pollfd));
  return poll(reinterpret_cast<pollfd*>(list), count, timeout_ms);
}

Fd open_to_read(const std::string& path) {
  return Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

Fd open_to_write(const std::string& path) {
  return Fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
}

size_t read_some(int fd, void* to, size_t room) {
  const ssize_t n = read(fd, to, room);
  return n > 0 ? static_cast<size_t>(n) : 0;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) text.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

bool write_if_room(int fd, std::string_view line) {
  pollfd entry = {fd, POLLOUT, 0};
  return poll(&entry, 1, 0) == 1 && (entry.revents & POLLOUT) != 0 && write_all(fd, line);
}

bool write_errors(std::string_view text) {
  return write_all(STDERR_FILENO, text);
}

std::string contents_of(int fd) {
  std::string text;
  char buffer[4096];
  off_t at = 0;
  for (ssize_t n; (n = pread(fd, buffer, sizeof buffer, at)) > 0; at += n)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

bool is_terminal(FILE* stream) {
  return isatty(fileno(stream)) != 0;
}

Fd silence() {
  Fd output(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  dup2(null.get(), STDOUT_FILENO);
  dup2(null.get(), STDERR_FILENO);
  return output;
}

Result<Fd> make_named_pipe(const std::string& path, Reading reading) {
  const int mode = reading == Reading::waits ? 0 : O_NONBLOCK;
  Fd pipe;
  if (mkfifo(path.c_str(), 0600) == 0) pipe.reset(open(path.c_str(), O_RDWR | O_CLOEXEC | mode));
  if (!pipe.valid()) {
    const int reason = errno;
    return Status::error(reason, path + ": " + strerror(reason));
  }
  return pipe;
}

}  // namespace tasuki::os
