// Functions that change what a mapping is, or say whether there is one. What they name is given back first,
// if it is kept (kept.h): they find what the program has mapped, and nothing else.
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/types.h>
#include <sys/uio.h>

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

using WithNumber = int (*)(void*, size_t, int);

}  // namespace

TASUKI_HIDDEN_WRAPPER(int, madvise, void* at, size_t length, int advice) {
  return given_back(at, length, TASUKI_NEXT(WithNumber, "madvise"))(at, length, advice);
}

TASUKI_WRAPPER(int, posix_madvise, void* at, size_t length, int advice) {
  return given_back(at, length, TASUKI_NEXT(WithNumber, "posix_madvise"))(at, length, advice);
}

TASUKI_WRAPPER(int, mprotect, void* at, size_t length, int protection) {
  if (self() != nullptr) tasuki::task::count_mapping();
  return given_back(at, length, TASUKI_NEXT(WithNumber, "mprotect"))(at, length, protection);
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
  if (self() != nullptr && at != nullptr) {
    shmid_ds segment;
    give_back(at, shmctl(id, IPC_STAT, &segment) == 0 ? segment.shm_segsz : SIZE_MAX);
  }
  return TASUKI_NEXT(void* (*)(int, const void*, int), "shmat")(id, at, flags);
}

// What a pipe still reads from belongs to it.
TASUKI_WRAPPER(ssize_t, vmsplice, int fd, const iovec* parts, size_t count, unsigned flags) {
  if (self() != nullptr)
    for (size_t i = 0; i < count; i++) give_back(parts[i].iov_base, parts[i].iov_len);
  return TASUKI_NEXT(ssize_t(*)(int, const iovec*, size_t, unsigned), "vmsplice")(fd, parts, count, flags);
}

// A userfaultfd hears of faults, as long as its memory is mapped.
TASUKI_WRAPPER(int, ioctl, int fd, unsigned long request, ...) {
  va_list args;
  va_start(args, request);
  void* argument = va_arg(args, void*);
  va_end(args);
  if (request == UFFDIO_REGISTER && self() != nullptr) {
    const uffdio_range& range = static_cast<const uffdio_register*>(argument)->range;
    give_back(reinterpret_cast<void*>(range.start), range.len);
  }
  return TASUKI_NEXT(int (*)(int, unsigned long, ...), "ioctl")(fd, request, argument);
}
