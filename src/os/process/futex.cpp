#include "os/process/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace tasuki::os {
namespace {

int in_scope(int operation, FutexScope scope) {
  return scope == FutexScope::machine ? operation : operation | FUTEX_PRIVATE_FLAG;
}

}  // namespace

bool futex_wait(const std::atomic<uint32_t>* word, uint32_t expected, int64_t timeout_ns, FutexScope scope) {
  timespec timeout;
  timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
  timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
  const int saved = errno;
  const long rc = syscall(SYS_futex, word, in_scope(FUTEX_WAIT, scope), expected,
                          timeout_ns < 0 ? nullptr : &timeout, nullptr, 0);
  const bool timed_out = rc != 0 && errno == ETIMEDOUT;
  errno = saved;
  return !timed_out;
}

int futex_wake(const std::atomic<uint32_t>* word, int count, FutexScope scope) {
  const int saved = errno;
  const long rc = syscall(SYS_futex, word, in_scope(FUTEX_WAKE, scope), count, nullptr, nullptr, 0);
  errno = saved;
  return rc < 0 ? 0 : static_cast<int>(rc);
}

}  // namespace tasuki::os
