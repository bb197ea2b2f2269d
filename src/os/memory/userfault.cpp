#include "os/memory/userfault.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "os/files/descriptor.h"
#include "os/memory/mapping.h"

// What the headers of Debian 12 (Linux 6.1) do not know yet.
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFDIO_MOVE  // Linux 6.8
#define _UFFDIO_MOVE (0x05)
struct uffdio_move {
  __u64 dst, src, len, mode;
  __s64 move;
};
#define UFFDIO_MOVE _IOWR(UFFDIO, _UFFDIO_MOVE, struct uffdio_move)
#endif
#ifndef UFFD_FEATURE_MOVE
#define UFFD_FEATURE_MOVE (1 << 16)
#endif
#ifndef USERFAULTFD_IOC_NEW  // Linux 6.1
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

namespace tasuki::os {
namespace {

uint64_t number(const void* p) {
  return reinterpret_cast<uintptr_t>(p);
}

// The descriptor, or -1 with errno. /dev/userfaultfd is the other door: its file permissions decide.
int open_descriptor(bool user_mode_only) {
  const int flags = O_CLOEXEC | O_NONBLOCK;
  if (user_mode_only) return static_cast<int>(syscall(SYS_userfaultfd, flags | UFFD_USER_MODE_ONLY));
  const int fd = static_cast<int>(syscall(SYS_userfaultfd, flags));
  if (fd >= 0) return fd;
  const int error = errno;
  const int device = ::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
  if (device < 0) {
    errno = error;
    return -1;
  }
  const int made = ioctl(device, USERFAULTFD_IOC_NEW, flags);
  close(device);
  return made;
}

// The kernel's features; a second descriptor, because each answers once.
bool offered(bool user_mode_only, uint64_t* features) {
  const int fd = open_descriptor(user_mode_only);
  if (fd < 0) return false;
  uffdio_api api = {};
  api.api = UFFD_API;
  const bool ok = ioctl(fd, UFFDIO_API, &api) == 0;
  *features = api.features;
  const int error = errno;
  close(fd);
  errno = error;
  return ok;
}

}  // namespace

UserFault::UserFault(int fd, uint64_t features, uint64_t)
    : fd_(fd),
      can_move_((features & UFFD_FEATURE_MOVE) != 0),
      can_protect_((features & UFFD_FEATURE_PAGEFAULT_FLAG_WP) != 0) {}

UserFault::UserFault(UserFault&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), can_move_(other.can_move_), can_protect_(other.can_protect_) {}

UserFault::~UserFault() {
  if (fd_ >= 0) close(fd_);
}

Result<UserFault> UserFault::open(bool user_mode_only, FaultDelivery delivery) {
  uint64_t all = 0;
  if (!offered(user_mode_only, &all)) {
    const int error = errno;
    if (error == EPERM)
      return Status::error(
          EPERM, user_mode_only ? "userfaultfd is filtered here (a container's seccomp profile?)"
                                : "userfaultfd for faults of system calls is not permitted; as root: sysctl "
                                  "vm.unprivileged_userfaultfd=1, or read access to /dev/userfaultfd");
    return Status::error(error, std::string("userfaultfd: ") + strerror(error));
  }
  const int fd = open_descriptor(user_mode_only);
  if (fd < 0) return Status::error(errno, std::string("userfaultfd: ") + strerror(errno));
  uffdio_api api = {};
  api.api = UFFD_API;
  api.features = all & (UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_MOVE | UFFD_FEATURE_THREAD_ID |
                        UFFD_FEATURE_EXACT_ADDRESS);
  if (delivery == FaultDelivery::signal) {
    if ((all & UFFD_FEATURE_SIGBUS) == 0) {
      close(fd);
      return Status::error(ENOSYS, "this kernel does not send SIGBUS for absent pages (Linux 4.14)");
    }
    api.features |= UFFD_FEATURE_SIGBUS;
  }
  const uint64_t features = api.features;
  if (ioctl(fd, UFFDIO_API, &api) != 0) {
    const int error = errno;
    close(fd);
    return Status::error(error,
                         std::string("userfaultfd: the kernel refused its own features: ") + strerror(error));
  }
  return UserFault(moved_out_of_the_way(Fd(fd)).release(), features, api.ioctls);
}

Status UserFault::add(void* at, size_t length) {
  return watch(at, length, UFFDIO_REGISTER_MODE_MISSING | (can_protect_ ? UFFDIO_REGISTER_MODE_WP : 0));
}

Status UserFault::add_missing(void* at, size_t length) {
  return watch(at, length, UFFDIO_REGISTER_MODE_MISSING);
}

Status UserFault::watch(void* at, size_t length, uint64_t mode) {
  uffdio_register r = {};
  r.range = {number(at), length};
  r.mode = mode;
  if (ioctl(fd_, UFFDIO_REGISTER, &r) == 0) return {};
  return Status::error(errno, std::string("userfaultfd: cannot watch memory: ") + strerror(errno));
}

Status UserFault::remove(void* at, size_t length) {
  uffdio_range r = {number(at), length};
  if (ioctl(fd_, UFFDIO_UNREGISTER, &r) == 0) return {};
  return Status::error(errno, std::string("userfaultfd: cannot stop watching memory: ") + strerror(errno));
}

size_t UserFault::read(FaultEvent* events, size_t max) {
  uffd_msg messages[32];
  if (max > 32) max = 32;
  const ssize_t n = ::read(fd_, messages, max * sizeof messages[0]);
  if (n <= 0) return 0;
  size_t count = 0;
  for (size_t i = 0; i < static_cast<size_t>(n) / sizeof messages[0]; i++) {
    const uffd_msg& m = messages[i];
    if (m.event != UFFD_EVENT_PAGEFAULT) continue;
    FaultEvent& e = events[count++];
    e.address = m.arg.pagefault.address;
    e.write = (m.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0;
    e.protection = (m.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WP) != 0;
    e.thread = static_cast<int>(m.arg.pagefault.feat.ptid);
  }
  return count;
}

int UserFault::move(void* to, const void* from, size_t length, size_t* done) {
  *done = 0;
  while (*done < length) {
    uffdio_move m = {};
    m.dst = number(to) + *done;
    m.src = number(from) + *done;
    m.len = length - *done;
    if (ioctl(fd_, UFFDIO_MOVE, &m) == 0) {
      *done = length;
      return 0;
    }
    const int error = errno;
    if (m.move > 0) *done += static_cast<size_t>(m.move);
    if (error == EEXIST &&
        has_moved(static_cast<std::byte*>(to) + *done, static_cast<const std::byte*>(from) + *done)) {
      wake(static_cast<std::byte*>(to) + *done, page_size());
      *done += page_size();
      continue;
    }
    if (error != EAGAIN) return error;
  }
  return 0;
}

// Linux 6.18 moves pages and forgets them: where it had to wait for one (the system was migrating it to make
// room for huge pages), it moves it and those behind it, does not count them, tries again, and finds the
// destination taken.
bool UserFault::has_moved(const void* to, const void* from) {
  uint8_t there = 0, here = 1;
  return present_page(to, &there) && present_page(from, &here) && there != 0 && here == 0;
}

int UserFault::copy(void* to, const void* from, size_t length, bool protect) const {
  size_t done = 0;
  while (done < length) {
    uffdio_copy c = {};
    c.dst = number(to) + done;
    c.src = number(from) + done;
    c.len = length - done;
    c.mode = protect ? UFFDIO_COPY_MODE_WP : 0;
    if (ioctl(fd_, UFFDIO_COPY, &c) == 0) return 0;
    if (c.copy > 0) done += static_cast<size_t>(c.copy);
    if (errno != EAGAIN) return errno;
  }
  return 0;
}

int UserFault::zero(void* at, size_t length) {
  size_t done = 0;
  while (done < length) {
    uffdio_zeropage z = {};
    z.range = {number(at) + done, length - done};
    if (ioctl(fd_, UFFDIO_ZEROPAGE, &z) == 0) return 0;
    if (z.zeropage > 0) done += static_cast<size_t>(z.zeropage);
    if (errno != EAGAIN) return errno;
  }
  return 0;
}

int UserFault::protect(void* at, size_t length, bool on) {
  uffdio_writeprotect w = {};
  w.range = {number(at), length};
  w.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
  while (ioctl(fd_, UFFDIO_WRITEPROTECT, &w) != 0)
    if (errno != EAGAIN) return errno;
  return 0;
}

int UserFault::wake(void* at, size_t length) const {
  uffdio_range r = {number(at), length};
  return ioctl(fd_, UFFDIO_WAKE, &r) == 0 ? 0 : errno;
}

namespace {

// Not /proc/self: there is nothing behind that when the first thread has ended. The entries are not in memory
// of malloc, which the thread may have been interrupted in.
template <size_t kEntries, class Say>
bool read_pagemap(const void* at, size_t pages, uint8_t* answers, const Say& say) {
  const int fd = ::open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::array<uint64_t, kEntries> entries;
  bool ok = true;
  for (size_t i = 0; i < pages && ok;) {
    const size_t n = pages - i < entries.size() ? pages - i : entries.size();
    const off_t where = static_cast<off_t>((number(at) / page_size() + i) * 8);
    ok = pread(fd, entries.data(), n * 8, where) == static_cast<ssize_t>(n * 8);
    for (size_t k = 0; ok && k < n; k++) answers[i + k] = say(entries[k]);
    i += n;
  }
  close(fd);
  return ok;
}

// Bit 63 present, bit 62 swapped, bit 56 mapped by one process alone.
bool is_present(uint64_t entry) {
  return entry >> 62 != 0;
}
bool is_alone(uint64_t entry) {
  return entry >> 63 != 0 && (entry >> 56 & 1) != 0;
}

}  // namespace

bool present_pages(const void* at, size_t length, uint8_t* present) {
  return read_pagemap<256>(at, length / page_size(), present, is_present);
}

bool present_page(const void* at, uint8_t* present) {
  return read_pagemap<1>(at, 1, present, is_present);
}

bool page_alone(const void* at, uint8_t* alone) {
  return read_pagemap<1>(at, 1, alone, is_alone);
}

}  // namespace tasuki::os
