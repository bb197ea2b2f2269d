// Functions that change what a mapping is, or say whether there is one. What they name is given back first,
// if it is kept (kept.h): they find what the program has mapped, and nothing else. After others nothing is
// kept any more.
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "task/object/exports.h"
#include "task/object/kept.h"
#include "task/object/statistics.h"
#include "task/space.h"

namespace {

using tasuki::task::give_back;
using tasuki::task::self;

// `next`, once what is kept there is given back.
template <typename Function>
Function given_back(const void* at, size_t length, Function next) {
  if (self() != nullptr) give_back(at, length);
  return next;
}

// Not what a child of vfork says of itself.
void keep_no_more() {
  const tasuki::task::TaskSlot* slot = self();
  if (slot != nullptr && slot->pid.load(std::memory_order_relaxed) == getpid()) tasuki::task::keep_no_more();
}

void keep_no_more_under(int resource) {
  if (resource == RLIMIT_AS || resource == RLIMIT_DATA) keep_no_more();
}

using WithNumber = int (*)(void*, size_t, int);

}  // namespace

TASUKI_HIDDEN_WRAPPER(int, madvise, void* at, size_t length, int advice) {
  return given_back(at, length, TASUKI_NEXT(WithNumber, "madvise"))(at, length, advice);
}

TASUKI_WRAPPER(int, posix_madvise, void* at, size_t length, int advice) {
  return given_back(at, length, TASUKI_NEXT(WithNumber, "posix_madvise"))(at, length, advice);
}

TASUKI_WRAPPER(int, mprotect, void* at, size_t length, int protection) {
  const auto next = given_back(at, length, TASUKI_NEXT(WithNumber, "mprotect"));
  if (self() == nullptr) return next(at, length, protection);
  tasuki::task::count_mapping();
  return tasuki::task::with_room([&] { return next(at, length, protection); });
}

TASUKI_WRAPPER(int, pkey_mprotect, void* at, size_t length, int protection, int key) {
  using Next = int (*)(void*, size_t, int, int);
  return given_back(at, length, TASUKI_NEXT(Next, "pkey_mprotect"))(at, length, protection, key);
}

TASUKI_WRAPPER(int, mlock, const void* at, size_t length) {
  return given_back(at, length, TASUKI_NEXT(int (*)(const void*, size_t), "mlock"))(at, length);
}

TASUKI_WRAPPER(int, mlock2, const void* at, size_t length, unsigned flags) {
  return given_back(at, length, TASUKI_NEXT(int (*)(const void*, size_t, unsigned), "mlock2"))(at, length,
                                                                                               flags);
}

TASUKI_WRAPPER(int, munlock, const void* at, size_t length) {
  return given_back(at, length, TASUKI_NEXT(int (*)(const void*, size_t), "munlock"))(at, length);
}

TASUKI_WRAPPER(int, msync, void* at, size_t length, int flags) {
  return given_back(at, length, TASUKI_NEXT(WithNumber, "msync"))(at, length, flags);
}

TASUKI_WRAPPER(int, mincore, void* at, size_t length, unsigned char* pages) {
  using Next = int (*)(void*, size_t, unsigned char*);
  return given_back(at, length, TASUKI_NEXT(Next, "mincore"))(at, length, pages);
}

// Where nothing may be mapped yet.
TASUKI_HIDDEN_WRAPPER(void*, shmat, int id, const void* at, int flags) {
  const auto next = TASUKI_NEXT(void* (*)(int, const void*, int), "shmat");
  if (self() == nullptr) return next(id, at, flags);
  const int before = errno;
  shmid_ds segment;
  const size_t length = shmctl(id, IPC_STAT, &segment) == 0 ? segment.shm_segsz : SIZE_MAX;
  errno = before;
  if (at != nullptr) give_back(at, length);
  void* const p = tasuki::task::with_room([&] { return next(id, at, flags); });
  if (!tasuki::task::failed(p)) tasuki::task::note_other(p, length);
  return p;
}

// What a pipe still reads from belongs to it.
TASUKI_WRAPPER(ssize_t, vmsplice, int fd, const iovec* parts, size_t count, unsigned flags) {
  keep_no_more();
  return TASUKI_NEXT(ssize_t(*)(int, const iovec*, size_t, unsigned), "vmsplice")(fd, parts, count, flags);
}

// A userfaultfd hears of faults, as long as its memory is mapped.
TASUKI_WRAPPER(int, ioctl, int fd, unsigned long request, ...) {
  va_list args;
  va_start(args, request);
  void* argument = va_arg(args, void*);
  va_end(args);
  if (static_cast<unsigned>(request) == UFFDIO_REGISTER) keep_no_more();
  return TASUKI_NEXT(int (*)(int, unsigned long, ...), "ioctl")(fd, request, argument);
}

// A filter may end the program at a system call that it does not know of. (libseccomp sets one by the system
// call of that name, but this first.)
TASUKI_WRAPPER(int, prctl, int option, ...) {
  va_list args;
  va_start(args, option);
  unsigned long values[4];
  for (unsigned long& value : values) value = va_arg(args, unsigned long);
  va_end(args);
  if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS) keep_no_more();
  using Next = int (*)(int, unsigned long, unsigned long, unsigned long, unsigned long);
  return TASUKI_NEXT(Next, "prctl")(option, values[0], values[1], values[2], values[3]);
}

// What is kept would count. Both structures are the same.
#define TASUKI_WRAP_SETRLIMIT(name)                                                        \
  TASUKI_WRAPPER(int, name, __rlimit_resource resource, const rlimit* limit) {             \
    keep_no_more_under(resource);                                                          \
    return TASUKI_NEXT(int (*)(__rlimit_resource, const rlimit*), #name)(resource, limit); \
  }
#define TASUKI_WRAP_PRLIMIT(name)                                                                      \
  TASUKI_WRAPPER(int, name, pid_t pid, __rlimit_resource resource, const rlimit* limit, rlimit* old) { \
    if (limit != nullptr) keep_no_more_under(resource);                                                \
    using Next = int (*)(pid_t, __rlimit_resource, const rlimit*, rlimit*);                            \
    return TASUKI_NEXT(Next, #name)(pid, resource, limit, old);                                        \
  }
TASUKI_WRAP_SETRLIMIT(setrlimit)
TASUKI_WRAP_SETRLIMIT(setrlimit64)
TASUKI_WRAP_PRLIMIT(prlimit)
TASUKI_WRAP_PRLIMIT(prlimit64)
