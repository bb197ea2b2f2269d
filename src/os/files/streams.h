// What goes through descriptors as text, and waiting for it.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/status.h"
#include "os/files/descriptor.h"

namespace tasuki::os {

// A descriptor that is waited for until something can be read or its other end is gone.
class Awaited {
 public:
  explicit Awaited(int fd) : entry_{fd, POLLIN, 0} {}  // negative: nothing ever comes
  int descriptor() const { return entry_.fd; }
  bool readable() const { return (entry_.revents & POLLIN) != 0; }  // when it was waited for the last time

 private:
  pollfd entry_;
};

// Sleeps until something comes by one of them, for at most so long; negative: for ever. Returns by how many;
// 0 after the time; negative, with errno, after a signal (EINTR). Allocates nothing.
int wait_for(Awaited* list, size_t count, int timeout_ms);

// A file, to be read; or to be written, from its beginning, with what it has gone. Invalid, with errno: it
// cannot be opened.
Fd open_to_read(const std::string& path);
Fd open_to_write(const std::string& path);

// What is there to be read, at most `room` bytes. 0: the end, or nothing (errno says why).
size_t read_some(int fd, void* to, size_t room);

// Writes all of it. False: not all; the reason is in errno.
bool write_all(int fd, std::string_view text);
// The same of a line, which is lost if it would have to wait for a reader.
bool write_if_room(int fd, std::string_view line);
// The same to the standard error output, past stdio: in one call of the system, so that lines of several
// processes do not mix, and also after stderr has been closed.
bool write_errors(std::string_view text);

// All that a file has, from its beginning; where the descriptor stands does not change.
std::string contents_of(int fd);

bool is_terminal(FILE* stream);

// What this process prints from now on, to either output, is lost. Returns where its output led.
Fd silence();

// Makes a named pipe for this user and opens it for both directions, so that it waits for no other end.
enum class Reading { waits, does_not_wait };
Result<Fd> make_named_pipe(const std::string& path, Reading reading);

}  // namespace tasuki::os
