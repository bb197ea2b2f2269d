#include "os/files/descriptor.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace tasuki::os {
namespace {

Status failure(const char* what) {
  const int err = errno;
  return Status::error(err, std::string(what) + ": " + strerror(err));
}

socklen_t abstract_address(std::string_view name, sockaddr_un* address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  const size_t n = std::min(name.size(), sizeof address->sun_path - 1);
  memcpy(address->sun_path + 1, name.data(), n);  // a leading 0 byte means: not in the file system
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
}

}  // namespace

void Fd::reset(int fd) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
}

Fd out_of_the_way(int fd) {
  return Fd(fcntl(fd, F_DUPFD_CLOEXEC, kOutOfTheWay));
}

Fd moved_out_of_the_way(Fd fd) {
  Fd moved = out_of_the_way(fd.get());
  return moved.valid() ? std::move(moved) : std::move(fd);
}

void keep_at_exec(int fd) {
  const int flags = fcntl(fd, F_GETFD);
  if (flags >= 0) fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC);
}

Result<Fd> listen_abstract(std::string_view name) {
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return failure("socket");
  sockaddr_un address;
  const socklen_t length = abstract_address(name, &address);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) return failure("bind");
  if (listen(fd.get(), 4096) != 0) return failure("listen");
  return fd;
}

Result<Fd> connect_abstract(std::string_view name) {
  Fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return failure("socket");
  sockaddr_un address;
  const socklen_t length = abstract_address(name, &address);
  int rc;
  do {
    rc = connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length);
  } while (rc != 0 && errno == EINTR);
  if (rc != 0) return failure("connect");
  return fd;
}

Result<Fd> accept_connection(int listener, int timeout_ms) {
  pollfd p = {listener, POLLIN, 0};
  const int rc = poll(&p, 1, timeout_ms);
  if (rc == 0 || (rc < 0 && errno == EINTR)) return Status::error(EAGAIN, "no connection");
  if (rc < 0) return failure("poll");
  Fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd.valid()) return failure("accept");
  return fd;
}

Result<Peer> peer_of(int socket) {
  ucred creds;
  socklen_t length = sizeof creds;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &creds, &length) != 0) return failure("SO_PEERCRED");
  return Peer{creds.uid, creds.pid};
}

Status send_message(int socket, const void* data, size_t length, const int* fds, size_t fd_count) {
  iovec iov = {const_cast<void*>(data), length};
  msghdr message = {};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassed * sizeof(int))];
  if (fd_count > kMaxPassed) return Status::error(EINVAL, "too many descriptors in one message");
  if (fd_count > 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
  }
  ssize_t n;
  do {
    n = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return failure("sendmsg");
  return {};
}

Result<size_t> receive_message(int socket, void* data, size_t length, std::vector<Fd>* fds) {
  iovec iov = {data, length};
  msghdr message = {};
  message.msg_iov = &iov;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassed * sizeof(int))];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  // If the other side closes with messages that it has not read, Linux says so once (ECONNRESET), before it
  // hands over what that side has sent.
  do {
    n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
  if (n < 0) return failure("recvmsg");
  for (cmsghdr* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
    if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
      Fd owned(fd);
      if (fds != nullptr) fds->push_back(std::move(owned));
    }
  }
  if ((message.msg_flags & MSG_TRUNC) != 0) return Status::error(EMSGSIZE, "message too long");
  if ((message.msg_flags & MSG_CTRUNC) != 0)
    return Status::error(EMFILE, "descriptors were lost (limit of open files, see ulimit -n)");
  return static_cast<size_t>(n);
}

void close_all_but(std::initializer_list<int> kept) {
  for (const int fd : open_descriptors(false))
    if (std::find(kept.begin(), kept.end(), fd) == kept.end()) close(fd);
}

std::vector<int> open_descriptors(bool without_close_on_exec) {
  std::vector<int> fds;
  DIR* dir = opendir("/proc/self/fd");
  if (dir == nullptr) return fds;
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] == '.') continue;
    const int fd = atoi(entry->d_name);
    if (fd == dirfd(dir)) continue;
    if (without_close_on_exec && (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0) continue;
    fds.push_back(fd);
  }
  closedir(dir);
  std::sort(fds.begin(), fds.end());
  return fds;
}

}  // namespace tasuki::os
