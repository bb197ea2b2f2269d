// Wrappers that the table cannot describe: messages with several buffers, system calls by number, threads.
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cluster/wrappers/asynchronous.h"
#include "cluster/wrappers/parts.h"
#include "cluster/wrappers/threads.h"
#include "generated/next.h"
#include "os/clock.h"
#include "os/process/signals.h"

using namespace tasuki::cluster;

extern "C" ssize_t tasuki_dlm_read(int, void*, size_t) __asm__("read");
extern "C" ssize_t tasuki_dlm_write(int, const void*, size_t) __asm__("write");
extern "C" ssize_t tasuki_dlm_pread(int, void*, size_t, off_t) __asm__("pread");
extern "C" ssize_t tasuki_dlm_pwrite(int, const void*, size_t, off_t) __asm__("pwrite");
extern "C" int tasuki_dlm_close(int) __asm__("close");
extern "C" int tasuki_dlm_close_range(unsigned, unsigned, int) __asm__("close_range");
extern "C" int tasuki_dlm_dup2(int, int) __asm__("dup2");
extern "C" int tasuki_dlm_dup3(int, int, int) __asm__("dup3");
extern "C" ssize_t tasuki_dlm_sendmsg(int, const msghdr*, int) __asm__("sendmsg");
extern "C" ssize_t tasuki_dlm_recvmsg(int, msghdr*, int) __asm__("recvmsg");

namespace {

bool guarded_message(const msghdr* m) {
  if (m == nullptr) return false;
  return guarded(m) || guarded(m->msg_name) || guarded(m->msg_control) ||
         guarded_vector(m->msg_iov, static_cast<int>(m->msg_iovlen));
}

// What the kernel refuses anyway keeps its errno.
bool plausible(const msghdr& m) {
  return m.msg_iovlen <= IOV_MAX &&
         (m.msg_iovlen == 0 || vector_bytes(m.msg_iov, static_cast<int>(m.msg_iovlen)) != SIZE_MAX);
}

// The message in parts, by call(message with pinned pieces). Control data go with the first part.
template <typename Call>
ssize_t message_parts(msghdr* m, bool write, bool again, bool whole, Call call) {
  const int count = static_cast<int>(m->msg_iovlen);
  const size_t length = count > 0 ? vector_bytes(m->msg_iov, count) : 0;
  msghdr first = *m;
  size_t done = 0;
  do {
    msghdr part = done == 0 ? *m : msghdr{};
    ssize_t n;
    size_t bytes;
    {
      Vector vector(first.msg_iov, count, done, write, whole);
      bytes = vector.bytes();
      if (bytes == 0 && length > done) return done > 0 ? static_cast<ssize_t>(done) : -1;
      part.msg_iov = vector.pieces();
      part.msg_iovlen = static_cast<size_t>(vector.count());
      n = call(&part);
      vector.came(n);
    }
    if (n < 0) return done > 0 ? static_cast<ssize_t>(done) : n;
    if (done == 0) {
      part.msg_iov = first.msg_iov;
      part.msg_iovlen = first.msg_iovlen;
      *m = part;
    }
    if (whole) return n;
    done += static_cast<size_t>(n);
    if (static_cast<size_t>(n) < bytes) break;
  } while (again && done < length);
  return static_cast<ssize_t>(done);
}

}  // namespace

TASUKI_WRAPPER(ssize_t, sendmsg, int fd, const struct msghdr* message, int flags) {
  if (!guarded_message(message) || !plausible(*message)) return next_sendmsg()(fd, message, flags);
  msghdr local = *message;
  const Held held({{local.msg_name, local.msg_namelen, Access::reads},
                   {local.msg_control, local.msg_controllen, Access::reads}});
  if (!held.complete()) return -1;
  local.msg_name = held.at<void*>(0);
  local.msg_control = held.at<void*>(1);
  return message_parts(&local, false, true, !is_stream_socket(fd),
                       [&](const msghdr* part) { return next_sendmsg()(fd, part, flags); });
}

TASUKI_WRAPPER(ssize_t, recvmsg, int fd, struct msghdr* message, int flags) {
  if (!guarded_message(message) || !plausible(*message)) return next_recvmsg()(fd, message, flags);
  msghdr local = *message;
  const Held held({{local.msg_name, local.msg_namelen, Access::writes},
                   {local.msg_control, local.msg_controllen, Access::writes}});
  if (!held.complete()) return -1;
  local.msg_name = held.at<void*>(0);
  local.msg_control = held.at<void*>(1);
  const ssize_t n = message_parts(&local, true, waits_for_all(flags), must_be_whole(fd, flags),
                                  [&](msghdr* part) { return next_recvmsg()(fd, part, flags); });
  if (n < 0) return n;
  message->msg_namelen = local.msg_namelen;
  message->msg_controllen = local.msg_controllen;
  message->msg_flags = local.msg_flags;
  return n;
}

TASUKI_WRAPPER(int, sendmmsg, int fd, struct mmsghdr* messages, unsigned count, int flags) {
  bool near = guarded(messages);
  for (unsigned i = 0; i < count && !near && messages != nullptr; i++)
    near = guarded_message(&messages[i].msg_hdr);
  if (!near) return next_sendmmsg()(fd, messages, count, flags);
  unsigned sent = 0;
  for (; sent < count; sent++) {
    const ssize_t n = tasuki_dlm_sendmsg(fd, &messages[sent].msg_hdr, flags);
    if (n < 0) return sent > 0 ? static_cast<int>(sent) : -1;
    messages[sent].msg_len = static_cast<unsigned>(n);
  }
  return static_cast<int>(sent);
}

// As the kernel does it: the timeout is looked at after each message (man 2 recvmmsg, BUGS).
TASUKI_WRAPPER(int, recvmmsg, int fd, struct mmsghdr* messages, unsigned count, int flags,
               struct timespec* timeout) {
  bool near = guarded(messages) || guarded(timeout);
  for (unsigned i = 0; i < count && !near && messages != nullptr; i++)
    near = guarded_message(&messages[i].msg_hdr);
  if (!near) return next_recvmmsg()(fd, messages, count, flags, timeout);
  constexpr int64_t kSecond = 1'000'000'000;
  const int64_t end =
      timeout == nullptr ? 0 : tasuki::os::monotonic_ns() + timeout->tv_sec * kSecond + timeout->tv_nsec;
  unsigned came = 0;
  while (came < count) {
    const ssize_t n = tasuki_dlm_recvmsg(fd, &messages[came].msg_hdr, flags & ~MSG_WAITFORONE);
    if (n < 0) {
      if (came == 0) return -1;
      break;
    }
    messages[came++].msg_len = static_cast<unsigned>(n);
    if ((flags & MSG_WAITFORONE) != 0) flags |= MSG_DONTWAIT;
    if (timeout == nullptr) continue;
    const int64_t left = end - tasuki::os::monotonic_ns();
    timeout->tv_sec = left > 0 ? left / kSecond : 0;
    timeout->tv_nsec = left > 0 ? left % kSecond : 0;
    if (left <= 0) break;
  }
  return static_cast<int>(came);
}

TASUKI_WRAPPER(ssize_t, getrandom, void* buffer, size_t length, unsigned flags) {
  if (!guarded(buffer, length)) return next_getrandom()(buffer, length, flags);
  return in_parts(buffer, length, true, true, false,
                  [&](void* part, size_t bytes, size_t) { return next_getrandom()(part, bytes, flags); });
}

namespace {

char* working_directory(char* result, size_t length) {
  if (length == 0) {
    errno = EINVAL;
    return nullptr;
  }
  char* local = next_getcwd()(nullptr, 0);
  if (local == nullptr) return nullptr;
  const size_t bytes = strlen(local) + 1;
  if (bytes <= length) memcpy(result, local, bytes);
  free(local);
  if (bytes <= length) return result;
  errno = ERANGE;
  return nullptr;
}

}  // namespace

TASUKI_WRAPPER(char*, getcwd, char* result, size_t length) {
  if (!guarded(result)) return next_getcwd()(result, length);
  return working_directory(result, length);
}
TASUKI_WRAPPER(char*, __getcwd_chk, char* result, size_t length, size_t room) {
  if (!guarded(result) || length > room) return next___getcwd_chk()(result, length, room);
  return working_directory(result, length);
}

// System calls by number. What a number's arguments point to is known here for those that programs make this
// way; of others the first page behind each address is held.
TASUKI_WRAPPER(long, syscall, long number, long a, long b, long c, long d, long e, long f) {
  switch (number) {  // these are asked also where the kernel brings pages itself
    case SYS_read:
      return tasuki_dlm_read(static_cast<int>(a), reinterpret_cast<void*>(b), static_cast<size_t>(c));
    case SYS_write:
      return tasuki_dlm_write(static_cast<int>(a), reinterpret_cast<const void*>(b), static_cast<size_t>(c));
    case SYS_pread64:
      return tasuki_dlm_pread(static_cast<int>(a), reinterpret_cast<void*>(b), static_cast<size_t>(c), d);
    case SYS_pwrite64:
      return tasuki_dlm_pwrite(static_cast<int>(a), reinterpret_cast<const void*>(b), static_cast<size_t>(c),
                               d);
    case SYS_close:
      return tasuki_dlm_close(static_cast<int>(a));
    case SYS_close_range:
      return tasuki_dlm_close_range(static_cast<unsigned>(a), static_cast<unsigned>(b), static_cast<int>(c));
#ifdef SYS_dup2  // not on aarch64
    case SYS_dup2:
      return tasuki_dlm_dup2(static_cast<int>(a), static_cast<int>(b));
#endif
    case SYS_dup3:
      return tasuki_dlm_dup3(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c));
    case SYS_io_submit:
    case SYS_io_getevents:
    case SYS_io_pgetevents:
    case SYS_io_cancel:
    case SYS_io_destroy:
      return asynchronous(number, a, b, c, d, e, f);
    default:
      break;
  }
  const long arguments[] = {a, b, c, d, e, f};
  bool near = false;
  for (const long argument : arguments) near |= guarded(reinterpret_cast<const void*>(argument));
  if (!near) return next_syscall()(number, a, b, c, d, e, f);
  switch (number) {
    case SYS_getrandom:
      return tasuki_dlm_getrandom(reinterpret_cast<void*>(a), static_cast<size_t>(b),
                                  static_cast<unsigned>(c));
    default:
      break;
  }
  const auto area = [](long argument) {
    const char* p = reinterpret_cast<const char*>(argument);
    const size_t bytes = tasuki::page_size() - static_cast<unsigned long>(argument) % tasuki::page_size();
    return Area{p, touches(p, 1) ? bytes : 0, Access::shared};
  };
  const Held first({area(a), area(b), area(c)});
  const Held second({area(d), area(e), area(f)});
  return next_syscall()(number, a, b, c, d, e, f);
}

namespace {

struct Start {
  void* (*run)(void*);
  void* argument;
};

// The internal threads that live. An MPI library has a handful; what exceeds the table is not known as one.
std::atomic<int> g_threads[256];

// Its number may be another thread's afterwards.
class Listed {
 public:
  Listed() {
    const int tid = gettid();
    for (std::atomic<int>& place : g_threads) {
      int none = 0;
      if (!place.compare_exchange_strong(none, tid)) continue;
      place_ = &place;
      return;
    }
  }
  ~Listed() {
    if (place_ != nullptr) place_->store(0);
  }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

 private:
  std::atomic<int>* place_ = nullptr;
};

void* run_internal(void* given) {
  const Start start = *static_cast<Start*>(given);
  t_internal = 1;
  free(given);
  const Listed listed;
  return start.run(start.argument);
}

}  // namespace

bool tasuki::cluster::is_internal_thread(int tid) {
  for (const std::atomic<int>& place : g_threads)
    if (place.load() == tid) return true;
  return false;
}

// A thread that an internal thread starts is one too (the MPI library's helpers), and takes no signals: the
// program's handlers must not run where pages are brought.
TASUKI_WRAPPER(int, pthread_create, pthread_t* thread, const pthread_attr_t* attributes,
               void* (*start)(void*), void* argument) {
  if (t_internal == 0) return next_pthread_create()(thread, attributes, start, argument);
  void* given = malloc(sizeof(Start));
  if (given == nullptr) return EAGAIN;
  *static_cast<Start*>(given) = {start, argument};
  sigset_t all, before;
  sigfillset(&all);
  // Also where this thread blocks them (os/process/signals.h only adds to the mask).
  for (const int number : tasuki::os::kFaultSignals) sigdelset(&all, number);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = next_pthread_create()(thread, attributes, run_internal, given);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) free(given);
  return error;
}
