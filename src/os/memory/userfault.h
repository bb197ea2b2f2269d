// userfaultfd: page faults of this process as messages. Addresses and lengths are page aligned. The kernel's
// rights: full (faults of system calls too) needs root, CAP_SYS_PTRACE, vm.unprivileged_userfaultfd=1 or a
// readable /dev/userfaultfd; without them only faults of user code can be served, and a system call on an
// absent page fails with EFAULT.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace tasuki::os {

struct FaultEvent {
  uintptr_t address = 0;  // of the access, to the byte where the kernel says
  bool write = false;
  bool execute = false;     // of code, where a signal says so
  bool protection = false;  // a write to a present page that is write-protected
  int thread = 0;           // kernel thread id, 0: not said
};

// message: read() has the fault, and the thread sleeps in the kernel until it is served. signal: the thread
// gets SIGBUS, and a system call fails with EFAULT, as with user_mode_only.
enum class FaultDelivery : bool { message, signal };

class UserFault {
 public:
  // EPERM: not permitted (the text says what would help); ENOSYS: not in this kernel or filtered.
  static Result<UserFault> open(bool user_mode_only, FaultDelivery delivery = FaultDelivery::message);
  UserFault(UserFault&& other) noexcept;
  UserFault& operator=(UserFault&&) = delete;
  ~UserFault();

  int descriptor() const { return fd_; }
  bool can_move() const { return can_move_; }
  bool can_protect() const { return can_protect_; }

  Status add(void* at, size_t length);          // absent pages and, where possible, writes to protected ones
  Status add_missing(void* at, size_t length);  // absent pages only
  Status remove(void* at, size_t length);

  // Up to `max` faults that wait to be served; 0: none now. Never blocks.
  size_t read(FaultEvent* events, size_t max);

  // Each returns 0 or an errno. move: pages of anonymous memory change their address, atomically for every
  // thread; `to` must be absent and added. Stops at the first page that cannot be moved; *done says how far.
  int move(void* to, const void* from, size_t length, size_t* done);
  int copy(void* to, const void* from, size_t length, bool protect) const;
  int zero(void* at, size_t length);              // EEXIST: the first page is there already
  int protect(void* at, size_t length, bool on);  // off: wakes who waits to write
  int wake(void* at, size_t length) const;

 private:
  UserFault(int fd, uint64_t features, uint64_t ioctls);
  Status watch(void* at, size_t length, uint64_t mode);
  static bool has_moved(const void* to, const void* from);
  int fd_ = -1;
  bool can_move_ = false, can_protect_ = false;
};

// Which pages of a range are there (or swapped out by the system): one byte a page, 1 for there. False: the
// kernel does not say.
bool present_pages(const void* at, size_t length, uint8_t* present);
bool present_page(const void* at, uint8_t* present);  // the same of one, with little stack
// Whether one page is there, and no other process has it (a child of fork, as long as neither has written to
// it).
bool page_alone(const void* at, uint8_t* alone);

}  // namespace tasuki::os
