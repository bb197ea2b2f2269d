// File descriptors: who is at the other end of a socket, and passing descriptors between processes.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace tasuki::os {

// A descriptor that is closed with its owner.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

// Another descriptor of the same file, with a number that programs which expect low ones do not meet: they
// close such that they think nobody uses, and reuse them. Invalid, with errno: there is none.
Fd out_of_the_way(int fd);
inline constexpr int kOutOfTheWay = 200;  // or above
// That one, and the first is closed; the first where there is no other.
Fd moved_out_of_the_way(Fd fd);
// The program that this process executes next inherits it.
void keep_at_exec(int fd);

// A listening socket of the abstract name space: no file, gone with its last descriptor. Messages keep their
// boundaries. EADDRINUSE when the name is taken.
Result<Fd> listen_abstract(std::string_view name);

// Connects to such a socket; ECONNREFUSED when nobody listens.
Result<Fd> connect_abstract(std::string_view name);

// The next connection within timeout_ms, EAGAIN if there is none.
Result<Fd> accept_connection(int listener, int timeout_ms);

// The user and the process at the other end, as the kernel recorded them.
struct Peer {
  uid_t uid;
  pid_t pid;
};
Result<Peer> peer_of(int socket);

// One message with descriptors (at most kMaxPassed), and its reception. Received descriptors are
// close-on-exec. receive_message returns the length of the message, 0 at the end of the connection; a message
// that is longer than `length` is an error.
inline constexpr size_t kMaxPassed = 250;
Status send_message(int socket, const void* data, size_t length, const int* fds = nullptr,
                    size_t fd_count = 0);
Result<size_t> receive_message(int socket, void* data, size_t length, std::vector<Fd>* fds = nullptr);

// Closes every descriptor but these.
void close_all_but(std::initializer_list<int> kept);

// The open descriptors of this process, ascending.
std::vector<int> open_descriptors(bool without_close_on_exec);

}  // namespace tasuki::os
