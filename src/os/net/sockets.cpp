#include "os/net/sockets.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace tasuki::os {
namespace {

epoll_event awaited(uint64_t id, bool readable, bool writable) {
  epoll_event event = {};
  if (readable) event.events |= EPOLLIN | EPOLLRDHUP;
  if (writable) event.events |= EPOLLOUT;
  event.data.u64 = id;
  return event;
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<Addresses> resolve(const HostPort& at, bool to_listen) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : AI_ADDRCONFIG);
  addrinfo* found = nullptr;
  const int error = getaddrinfo(at.host.empty() ? nullptr : at.host.c_str(), std::to_string(at.port).c_str(),
                                &hints, &found);
  if (error != 0)
    return Status::error(EADDRNOTAVAIL, "no address for " + at.text() + ": " +
                                            (error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error)));
  return Addresses(found, &freeaddrinfo);
}

void set_option(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);
}

int milliseconds(uint64_t seconds) {
  return static_cast<int>(std::min<uint64_t>(seconds, 1'000'000) * 1000);
}

// 0: in time.
int wait_for_one(int fd, short events, uint64_t patience_s) {
  pollfd entry = {fd, events, 0};
  int n;
  do {
    n = poll(&entry, 1, milliseconds(patience_s));
  } while (n < 0 && errno == EINTR);
  return n > 0 ? 0 : n == 0 ? ETIMEDOUT : errno;
}

int connect_one(int socket, const sockaddr* to, socklen_t length, uint64_t patience_s) {
  if (connect(socket, to, length) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (const int error = wait_for_one(socket, POLLOUT, patience_s); error != 0) return error;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

size_t moved(ssize_t n, bool reading, int* failed) {
  if (n > 0) return static_cast<size_t>(n);
  if (n == 0 && reading)
    *failed = ECONNRESET;
  else if (n < 0 && errno != EAGAIN && errno != EINTR)
    *failed = errno;
  return 0;
}

msghdr message_of(const iovec* parts, int count) {
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = static_cast<size_t>(count);
  return message;
}

using Mover = size_t (*)(int, const iovec*, int, int*);
Status move_all(int socket, void* data, size_t bytes, uint64_t patience_s, short events, Mover move) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    int failed = 0;
    const iovec part = {at, bytes};
    const size_t n = move(socket, &part, 1, &failed);
    if (n == 0 && failed == 0) failed = wait_for_one(socket, events, patience_s);
    if (failed != 0) return Status::error(failed, strerror(failed));
    at += n;
    bytes -= n;
  }
  return {};
}

}  // namespace

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "localhost";
}

std::string HostPort::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host.empty() ? "*" : host) + ":" + std::to_string(port);
}

Result<HostPort> parse_host_port(const std::string& text, uint16_t default_port) {
  HostPort at;
  at.port = default_port;
  size_t colon = std::string::npos;
  if (!text.empty() && text[0] == '[') {
    const size_t close = text.find(']');
    if (close == std::string::npos) return Status::error(EINVAL, "'" + text + "' has no ]");
    at.host = text.substr(1, close - 1);
    if (close + 1 < text.size()) colon = close + 1;
  } else {
    colon = text.find(':');
    at.host = text.substr(0, colon);
  }
  if (colon == std::string::npos) {
    if (at.host.empty()) return Status::error(EINVAL, "'" + text + "' names no host");
    return at;
  }
  const std::string port = text.substr(colon + 1);
  char* end = nullptr;
  const unsigned long number = strtoul(port.c_str(), &end, 10);
  if (text[colon] != ':' || port.empty() || port[0] < '0' || port[0] > '9' || *end != 0 || number > 65535)
    return Status::error(EINVAL, "'" + text + "' is not HOST or HOST:PORT");
  at.port = static_cast<uint16_t>(number);
  return at;
}

Result<Fd> listen_on(const HostPort& at) {
  Result<Addresses> found = resolve(at, true);
  if (!found.ok()) return found.status();
  int error = EADDRNOTAVAIL;
  // An address of the sixth version takes connections of the fourth, too, and so comes first.
  for (const int family : {AF_INET6, AF_INET})
    for (const addrinfo* a = found.value().get(); a != nullptr; a = a->ai_next) {
      if (a->ai_family != family) continue;
      Fd fd(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!fd.valid()) {
        error = errno;
        continue;
      }
      set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
      if (family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
      if (bind(fd.get(), a->ai_addr, a->ai_addrlen) == 0 && listen(fd.get(), 64) == 0) return fd;
      error = errno;
    }
  return Status::error(error, "cannot listen on " + at.text() + ": " + strerror(error));
}

Result<uint16_t> port_of(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return Status::error(errno, "getsockname");
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

Fd accept_stream(int listener, std::string* from) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  Fd fd(accept4(listener, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
  char host[NI_MAXHOST] = "?";
  if (fd.valid())
    getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  *from = host;
  return fd;
}

void prepare_stream(int socket, uint64_t dead_s, bool hurried) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  if (dead_s == 0) return;
  const int seconds = static_cast<int>(std::clamp<uint64_t>(dead_s / 4, 1, 3600));
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  if (hurried) set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, milliseconds(dead_s));
}

Result<Fd> connect_to(const HostPort& to, uint64_t patience_s, uint64_t dead_s) {
  Result<Addresses> found = resolve(to, false);
  if (!found.ok()) return found.status();
  int error = EADDRNOTAVAIL;
  for (const addrinfo* a = found.value().get(); a != nullptr; a = a->ai_next) {
    Fd fd(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = fd.valid() ? connect_one(fd.get(), a->ai_addr, a->ai_addrlen, patience_s) : errno;
    if (error != 0) continue;
    prepare_stream(fd.get(), dead_s, true);
    return moved_out_of_the_way(std::move(fd));
  }
  return Status::error(error, to.text() + ": " + strerror(error));
}

Fd connect_again(int socket, uint64_t patience_s, uint64_t dead_s) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  auto* const to = reinterpret_cast<sockaddr*>(&address);
  if (getpeername(socket, to, &size) != 0) return {};
  Fd fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return {};
  if (const int error = connect_one(fd.get(), to, size, patience_s); error != 0) {
    errno = error;
    return {};
  }
  prepare_stream(fd.get(), dead_s, true);
  return moved_out_of_the_way(std::move(fd));
}

size_t send_now(int socket, const iovec* parts, int count, int* failed) {
  const msghdr message = message_of(parts, count);
  return moved(sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT), false, failed);
}

size_t receive_now(int socket, const iovec* parts, int count, int* failed) {
  msghdr message = message_of(parts, count);
  return moved(recvmsg(socket, &message, MSG_DONTWAIT), true, failed);
}

Status send_all(int socket, const void* data, size_t bytes, uint64_t patience_s) {
  return move_all(socket, const_cast<void*>(data), bytes, patience_s, POLLOUT, send_now);
}

Status receive_all(int socket, void* data, size_t bytes, uint64_t patience_s) {
  return move_all(socket, data, bytes, patience_s, POLLIN, receive_now);
}

Result<Poller> Poller::open() {
  Poller poller;
  poller.epoll_ = moved_out_of_the_way(Fd(epoll_create1(EPOLL_CLOEXEC)));
  if (!poller.epoll_.valid()) return Status::error(errno, std::string("epoll_create1: ") + strerror(errno));
  return poller;
}

Status Poller::add(int fd, uint64_t id) const {
  epoll_event event = awaited(id, true, false);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return {};
  return Status::error(errno, std::string("epoll_ctl: ") + strerror(errno));
}

void Poller::await(int fd, uint64_t id, bool readable, bool writable) const {
  epoll_event event = awaited(id, readable, writable);
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Poller::remove(int fd) const {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Poller::wait(int timeout_ms, std::vector<Event>* events) const {
  epoll_event found[kMost];
  const int n = epoll_wait(epoll_.get(), found, kMost, timeout_ms);
  for (int i = 0; i < n; i++)
    events->push_back({found[i].data.u64,
                       (found[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0,
                       (found[i].events & EPOLLOUT) != 0});
}

}  // namespace tasuki::os
