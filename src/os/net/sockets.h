// Streams between hosts: TCP, without waiting once they are there. And waiting for many of them at once.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "os/files/descriptor.h"

namespace tasuki::os {

std::string host_name();  // of this host, as it calls itself

struct HostPort {
  std::string host;  // a name or an address; empty: all addresses of this host, for listen_on()
  uint16_t port = 0;
  std::string text() const;  // "node7:7411", "[fe80::1]:7411"
};
// "node7", "node7:7411", "10.0.0.7:7411", "[fe80::1]:7411". EINVAL: none of these.
Result<HostPort> parse_host_port(const std::string& text, uint16_t default_port);

// Port 0: any that is free. The errors name the address.
Result<Fd> listen_on(const HostPort& at);
// Where a listening socket or the near end of a connection is.
Result<uint16_t> port_of(int socket);
// The next connection that waits; invalid, with errno: there is none now (EAGAIN), or it cannot be had. *from
// becomes the address of the other end.
Fd accept_stream(int listener, std::string* from);

// Both ends of a stream: small messages are sent at once. The kernel asks whether the other end is there, and
// gives the connection up after some `dead_s` seconds without an answer (0: as the system does). `hurried`:
// also where the other end is there, but takes nothing for as long, as when it is stopped.
void prepare_stream(int socket, uint64_t dead_s, bool hurried);
// Tries the addresses of the host in turns, each for at most `patience_s` seconds. A prepared stream,
// hurried, out of the way of the program's descriptors.
Result<Fd> connect_to(const HostPort& to, uint64_t patience_s, uint64_t dead_s);
// Another stream to where this one leads, out of the way of the program's descriptors. Invalid, with errno.
// Allocates nothing.
Fd connect_again(int socket, uint64_t patience_s, uint64_t dead_s);

// How many bytes of these went or came; 0: none now, as far as *failed stays 0. Else it is the error,
// ECONNRESET also for the end of the stream.
size_t send_now(int socket, const iovec* parts, int count, int* failed);
size_t receive_now(int socket, const iovec* parts, int count, int* failed);
// All of it, waiting for at most so long. ETIMEDOUT, ECONNRESET.
Status send_all(int socket, const void* data, size_t bytes, uint64_t patience_s);
Status receive_all(int socket, void* data, size_t bytes, uint64_t patience_s);

// Sockets that are waited for, by numbers of the caller's.
class Poller {
 public:
  struct Event {
    uint64_t id;
    bool readable, writable;  // readable: also when the other end has gone
  };

  static Result<Poller> open();
  Status add(int fd, uint64_t id) const;  // until it is readable
  void await(int fd, uint64_t id, bool readable, bool writable) const;
  void remove(int fd) const;
  // Appends what has come within timeout_ms (negative: for ever), at most kMost at a time.
  void wait(int timeout_ms, std::vector<Event>* events) const;
  int descriptor() const { return epoll_.get(); }  // can be read while there are events

 private:
  static constexpr int kMost = 64;
  Fd epoll_;
};

}  // namespace tasuki::os
