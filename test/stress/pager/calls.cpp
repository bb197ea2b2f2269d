// System calls of libc that read and write cluster memory: wrappers know of them.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "operations.h"

namespace tasuki::stress {
namespace {

// --- files

void file_in(int fd, World& w, Thread& t, Block& b, const Range& r, bool direct) {
  const size_t grain = direct ? kPage : 1, places = (World::kFile - r.bytes) / grain;
  const size_t offset = t.random() % places * grain;
  memcpy(b.copy + r.from, w.file + offset, r.bytes);
  if (t.random() % 3 == 0) {
    const size_t half = r.bytes / 2 / grain * grain;
    const iovec parts[] = {{b.at + r.from, half}, {b.at + r.from + half, r.bytes - half}};
    expect("preadv", preadv(fd, parts, 2, static_cast<off_t>(offset)), r.bytes);
  } else {
    expect("pread", pread(fd, b.at + r.from, r.bytes, static_cast<off_t>(offset)), r.bytes);
  }
  if (t.random() % 2 == 0) check(t, b, r.from, r.bytes);
}

void file_out(int fd, World& w, Thread& t, Block& b, const Range& r) {
  const auto offset = static_cast<off_t>(static_cast<size_t>(t.id) * World::kOut);
  if (t.random() % 3 == 0) {
    const iovec part = {b.at + r.from, r.bytes};
    expect("pwritev", pwritev(fd, &part, 1, offset), r.bytes);
  } else {
    expect("pwrite", pwrite(fd, b.at + r.from, r.bytes, offset), r.bytes);
  }
  expect("pread", pread(w.out, t.local, r.bytes, offset), r.bytes);
  check_local(t, b.copy + r.from, r.bytes);
}

// --- pipes

// All of it, in as many reads as it takes.
void take(int fd, std::byte* at, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = ::read(fd, at + done, bytes - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) wrong("read of a pipe: %s", n == 0 ? "it has ended" : strerror(errno));
    done += static_cast<size_t>(n);
  }
}

// What is in the pipe is what was in the block.
void drain(Thread& t, const Block& b, const Range& r) {
  Block& to = any_block(t);
  if (to.bytes < r.bytes || t.random() % 2 == 0) {
    take(t.ends.pipe[0], t.local, r.bytes);
    check_local(t, b.copy + r.from, r.bytes);
    return;
  }
  memmove(to.copy, b.copy + r.from, r.bytes);
  take(t.ends.pipe[0], to.at, r.bytes);
  check(t, to, 0, r.bytes);
}

// --- sockets

// The pieces of one message.
struct Pieces {
  iovec all[3];
  size_t count = 0;

  Pieces(Thread& t, std::byte* at, size_t bytes, size_t most) {
    const size_t pieces = 1 + t.random() % most;
    while (bytes > 0) {
      const size_t part = count + 1 == pieces ? bytes : std::min(bytes, 1 + t.random() % bytes);
      all[count++] = {at, part};
      at += part;
      bytes -= part;
    }
  }
  // The first so many are over. False: all are.
  bool pass(size_t bytes) {
    size_t first = 0;
    for (; first < count && bytes >= all[first].iov_len; first++) bytes -= all[first].iov_len;
    std::copy(all + first, all + count, all);
    count -= first;
    if (count == 0) return false;
    all[0] = {static_cast<std::byte*>(all[0].iov_base) + bytes, all[0].iov_len - bytes};
    return true;
  }
  msghdr message() {
    msghdr m = {};
    m.msg_iov = all;
    m.msg_iovlen = count;
    return m;
  }
};

// Ways to send and to receive: the last three take several pieces.
constexpr uint64_t kWays = 5, kOfOnePiece = 2;

ssize_t send_once(int fd, uint64_t way, Pieces* p) {
  mmsghdr several = {p->message(), 0};
  switch (way) {
    case 0:
      return ::send(fd, p->all[0].iov_base, p->all[0].iov_len, 0);
    case 1:
      return ::write(fd, p->all[0].iov_base, p->all[0].iov_len);
    case 2:
      return ::sendmsg(fd, &several.msg_hdr, 0);
    case 3:
      return ::writev(fd, p->all, static_cast<int>(p->count));
    default:
      return ::sendmmsg(fd, &several, 1, 0) == 1 ? static_cast<ssize_t>(several.msg_len) : -1;
  }
}

ssize_t receive_once(int fd, uint64_t way, Pieces* p, int flags) {
  mmsghdr several = {p->message(), 0};
  switch (way) {
    case 0:
      return ::recv(fd, p->all[0].iov_base, p->all[0].iov_len, flags);
    case 1:
      return ::read(fd, p->all[0].iov_base, p->all[0].iov_len);
    case 2:
      return ::recvmsg(fd, &several.msg_hdr, flags);
    case 3:
      return ::readv(fd, p->all, static_cast<int>(p->count));
    default:
      return ::recvmmsg(fd, &several, 1, flags, nullptr) == 1 ? static_cast<ssize_t>(several.msg_len) : -1;
  }
}

// From one block to another. Both ends are this thread's: it sends no more than fits in between.
void through_socket(Thread& t, Block& from, const Pair& ends, bool whole) {
  constexpr size_t kMost = 32 << 10;
  Block& to = any_block(t);
  const Range r = any_range(t, from, std::min(kMost, to.bytes));
  const size_t at = t.random() % (to.bytes - r.bytes + 1);
  const uint64_t out = t.random() % kWays, in = t.random() % kWays, end = t.random() % 2;
  Pieces sent(t, from.at + r.from, r.bytes, out < kOfOnePiece ? 1 : 3);
  for (;;) {
    const ssize_t n = send_once(ends[end], out, &sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || (whole && n != static_cast<ssize_t>(r.bytes)))
      wrong("thread %d: sent %zd of %zu bytes: %s", t.id, n, r.bytes, strerror(errno));
    if (!sent.pass(static_cast<size_t>(n))) break;
  }
  if (t.random() % 4 == 0) {
    const ssize_t n = ::recv(ends[1 - end], t.local, r.bytes, MSG_PEEK);
    if (n <= 0 || (whole && n != static_cast<ssize_t>(r.bytes)))
      wrong("thread %d: a peek: %zd of %zu bytes", t.id, n, r.bytes);
    check_local(t, from.copy + r.from, static_cast<size_t>(n));
  }
  memmove(to.copy + at, from.copy + r.from, r.bytes);
  const int flags = !whole && t.random() % 2 == 0 ? MSG_WAITALL : 0;
  Pieces got(t, to.at + at, r.bytes, in < kOfOnePiece ? 1 : 3);
  for (;;) {
    const ssize_t n = receive_once(ends[1 - end], in, &got, flags);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || (whole && n != static_cast<ssize_t>(r.bytes)))
      wrong("thread %d: received %zd of %zu bytes: %s", t.id, n, r.bytes, strerror(errno));
    if (!got.pass(static_cast<size_t>(n))) break;
  }
  check(t, to, at, r.bytes);
}

Pair tcp_pair() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Pair ends{-1, -1};
  if (listening >= 0 && bind(listening, general, length) == 0 && listen(listening, 1) == 0 &&
      getsockname(listening, general, &length) == 0) {
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (ends[0] >= 0 && connect(ends[0], general, length) == 0)
      ends[1] = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
  }
  if (listening >= 0) close(listening);
  const int on = 1, room = 1 << 20;
  for (const int end : ends) {
    setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(end, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    setsockopt(end, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  }
  if (ends[1] >= 0) return ends;
  if (ends[0] >= 0) close(ends[0]);
  return {-1, -1};
}

}  // namespace

Ends open_ends(bool tcp) {
  Ends ends;
  if (pipe2(ends.pipe.data(), O_CLOEXEC) != 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.stream.data()) != 0 ||
      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.packets.data()) != 0)
    wrong("no pipe or socket: %s", strerror(errno));
  if (tcp) ends.tcp = tcp_pair();
  return ends;
}
void close_ends(const Ends& ends) {
  for (const Pair& pair : {ends.pipe, ends.stream, ends.packets, ends.tcp})
    for (const int end : pair)
      if (end >= 0) close(end);
}

void read_file(World& w, Thread& t, Block& b) {
  file_in(w.in, w, t, b, any_range(t, b), false);
}
void read_direct(World& w, Thread& t, Block& b) {
  const Range r = any_pages(t, b);
  if (r.bytes > 0) file_in(w.in_direct, w, t, b, r, true);
}
void write_file(World& w, Thread& t, Block& b) {
  file_out(w.out, w, t, b, any_range(t, b, World::kOut));
}
void write_direct(World& w, Thread& t, Block& b) {
  const Range r = any_pages(t, b, World::kOut);
  if (r.bytes > 0) file_out(w.out_direct, w, t, b, r);
}

void through_pipe(World&, Thread& t, Block& b) {
  const Range r = any_range(t, b, 16 * kPage);
  expect("write to a pipe", ::write(t.ends.pipe[1], b.at + r.from, r.bytes), r.bytes);
  drain(t, b, r);
}
// The pages are the pipe's until they are read, long after they have left.
void splice_pages(World& w, Thread& t, Block& b) {
  const Range r = any_range(t, b, 8 * kPage);
  const iovec part = {b.at + r.from, r.bytes};
  expect("vmsplice", vmsplice(t.ends.pipe[1], &part, 1, 0), r.bytes);
  go_on_elsewhere(w, t, b, 20);
  drain(t, b, r);
}

void through_stream(World&, Thread& t, Block& b) {
  through_socket(t, b, t.ends.stream, false);
}
void through_packets(World&, Thread& t, Block& b) {
  through_socket(t, b, t.ends.packets, true);
}
void through_tcp(World&, Thread& t, Block& b) {
  if (t.ends.tcp[0] >= 0) through_socket(t, b, t.ends.tcp, false);
}

}  // namespace tasuki::stress
