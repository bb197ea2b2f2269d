// Transfers that go on behind the call that began them: libaio's, and pages that vmsplice puts into a pipe.
// Nobody says how long the memory must stay, or only much later, and there may be more of it than can be
// pinned: so they go through local memory, in all ways to catch faults. io_uring is not seen here, as
// programs submit its transfers by writing to memory (docs/pager.md says where it is safe).
#include "cluster/wrappers/asynchronous.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cluster/wrappers/parts.h"
#include "generated/next.h"

using namespace tasuki::cluster;

namespace {

struct Transfer {
  Transfer* next;
  aio_context_t context;
  iocb* given;
  iocb own;
  iovec* vector;  // of the program's memory; local
  size_t count, bytes;
  iovec piece;  // `copy`, of which the kernel knows
  std::byte* copy;
  size_t size;  // of all of this
};

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
Transfer* g_transfers = nullptr;
std::atomic<size_t> g_under_way{0};

class Lock {
 public:
  Lock() { next_pthread_mutex_lock()(&g_lock); }
  ~Lock() { next_pthread_mutex_unlock()(&g_lock); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

bool reads(const iocb& call) {
  return call.aio_lio_opcode == IOCB_CMD_PREAD || call.aio_lio_opcode == IOCB_CMD_PREADV;
}
bool is_vector(const iocb& call) {
  return call.aio_lio_opcode == IOCB_CMD_PREADV || call.aio_lio_opcode == IOCB_CMD_PWRITEV;
}
// The memory of a call: `one` for those without a vector.
const iovec* memory_of(const iocb& call, iovec* one, size_t* count) {
  *count = call.aio_nbytes;
  if (is_vector(call)) return reinterpret_cast<const iovec*>(call.aio_buf);
  *one = {reinterpret_cast<void*>(call.aio_buf), call.aio_nbytes};
  *count = 1;
  return one;
}
bool is_programs_call(const iocb& call) {
  if (call.aio_lio_opcode != IOCB_CMD_PWRITE && call.aio_lio_opcode != IOCB_CMD_PWRITEV && !reads(call))
    return false;
  iovec one;
  size_t count;
  const iovec* memory = memory_of(call, &one, &count);
  if (count > IOV_MAX) return false;
  if (is_vector(call) && is_programs(memory)) return true;
  for (size_t i = 0; i < count; i++)
    if (is_programs(memory[i].iov_base, memory[i].iov_len)) return true;
  return false;
}

// nullptr: no memory.
Transfer* begin(aio_context_t context, iocb* given) {
  iovec one;
  size_t count;
  const iovec* memory = memory_of(*given, &one, &count);
  const size_t bytes = vector_bytes(memory, static_cast<int>(count));
  if (bytes == SIZE_MAX) return nullptr;
  const size_t head = tasuki::os::page_ceil(sizeof(Transfer) + count * sizeof(iovec));
  void* room = local_memory(head + bytes);
  if (room == nullptr) return nullptr;
  auto* t = static_cast<Transfer*>(room);
  *t = {.next = nullptr,
        .context = context,
        .given = given,
        .own = *given,
        .vector = reinterpret_cast<iovec*>(t + 1),
        .count = count,
        .bytes = bytes,
        .piece = {},
        .copy = static_cast<std::byte*>(room) + head,
        .size = head + bytes};
  memcpy(t->vector, memory, count * sizeof(iovec));
  size_t done = 0;
  for (size_t i = 0; i < count && !reads(*given); done += t->vector[i++].iov_len)
    memcpy(t->copy + done, t->vector[i].iov_base, t->vector[i].iov_len);
  t->piece = {t->copy, bytes};
  t->own.aio_buf = reinterpret_cast<uintptr_t>(is_vector(*given) ? static_cast<void*>(&t->piece) : t->copy);
  if (is_vector(*given)) t->own.aio_nbytes = 1;
  return t;
}

void add(Transfer* t) {
  const Lock lock;
  t->next = g_transfers;
  g_transfers = t;
  g_under_way++;
}
template <typename Condition>
Transfer* take(Condition condition, bool remove) {
  const Lock lock;
  for (Transfer** at = &g_transfers; *at != nullptr; at = &(*at)->next)
    if (condition(**at)) {
      Transfer* t = *at;
      if (remove) {
        *at = t->next;
        g_under_way--;
      }
      return t;
    }
  return nullptr;
}

void complete(io_event* event) {
  if (g_under_way.load() == 0) return;
  Transfer* t =
      take([&](const Transfer& x) { return reinterpret_cast<uintptr_t>(&x.own) == event->obj; }, true);
  if (t == nullptr) return;
  event->obj = reinterpret_cast<uintptr_t>(t->given);
  size_t left = event->res > 0 ? std::min(static_cast<size_t>(event->res), t->bytes) : 0, done = 0;
  for (size_t i = 0; i < t->count && reads(t->own) && left > 0; i++) {
    const size_t part = std::min(left, t->vector[i].iov_len);
    memcpy(t->vector[i].iov_base, t->copy + done, part);
    done += part;
    left -= part;
  }
  give_back(t, t->size);
}

long submit(aio_context_t context, long count, iocb** calls) {
  bool any = is_programs(calls, static_cast<size_t>(count) * sizeof(*calls));
  for (long i = 0; i < count && !any; i++)
    any = is_programs(calls[i], sizeof(iocb)) || is_programs_call(*calls[i]);
  if (!any)
    return next_syscall()(SYS_io_submit, static_cast<long>(context), count, reinterpret_cast<long>(calls), 0,
                          0, 0);
  // One after the other: each is the program's own or one of ours.
  long done = 0;
  for (; done < count; done++) {
    Transfer* t = nullptr;
    iocb local = *calls[done], *call = calls[done];
    if (is_programs_call(local) || is_programs(call, sizeof(iocb))) {
      t = begin(context, call);
      if (t == nullptr) {
        errno = EAGAIN;
        break;
      }
      add(t);
      call = &t->own;
    }
    const long n =
        next_syscall()(SYS_io_submit, static_cast<long>(context), 1, reinterpret_cast<long>(&call), 0, 0, 0);
    if (n == 1) continue;
    if (t != nullptr && take([&](const Transfer& x) { return &x == t; }, true) != nullptr)
      give_back(t, t->size);
    break;
  }
  return done > 0 || count == 0 ? done : -1;
}

// io_getevents and io_pgetevents.
long get_events(long number, long context, long least, long most, io_event* events, timespec* timeout,
                long mask) {
  const size_t bytes = most > 0 ? static_cast<size_t>(most) * sizeof(*events) : 0;
  long n;
  {
    const Held held({{events, guarded(events, bytes) ? bytes : 0, Access::writes},
                     {timeout, guarded(timeout) ? sizeof *timeout : 0, Access::reads}});
    if (!held.complete()) return -1;
    n = next_syscall()(number, context, least, most, reinterpret_cast<long>(held.at<io_event*>(0)),
                       reinterpret_cast<long>(held.at<timespec*>(1)), mask);
  }
  for (long i = 0; i < n; i++) complete(&events[i]);
  return n;
}

// What is under way there ends first, as the kernel would wait for it.
long destroy(long context) {
  const auto here = [&](const Transfer& t) { return t.context == static_cast<aio_context_t>(context); };
  while (g_under_way.load() > 0 && take(here, false) != nullptr) {
    io_event event;
    const long n = next_syscall()(SYS_io_getevents, context, 1, 1, reinterpret_cast<long>(&event), 0, 0);
    if (n == 1)
      complete(&event);
    else if (errno != EINTR)
      break;
  }
  return next_syscall()(SYS_io_destroy, context, 0, 0, 0, 0, 0);
}

int libaio(long result) {
  return static_cast<int>(result < 0 ? -errno : result);
}
// libaio's functions leave errno alone.
template <typename Call>
int as_libaio(Call call) {
  const int error = errno;
  const int result = libaio(call());
  errno = error;
  return result;
}

}  // namespace

long tasuki::cluster::asynchronous(long number, long a, long b, long c, long d, long e, long f) {
  switch (number) {
    case SYS_io_submit:
      return submit(static_cast<aio_context_t>(a), b, reinterpret_cast<iocb**>(c));
    case SYS_io_getevents:
    case SYS_io_pgetevents:
      return get_events(number, a, b, c, reinterpret_cast<io_event*>(d), reinterpret_cast<timespec*>(e), f);
    case SYS_io_cancel: {
      const Transfer* t =
          take([&](const Transfer& x) { return reinterpret_cast<long>(x.given) == b; }, false);
      return next_syscall()(number, a, t != nullptr ? reinterpret_cast<long>(&t->own) : b, c, d, e, f);
    }
    case SYS_io_destroy:
      return destroy(a);
    default:
      return next_syscall()(number, a, b, c, d, e, f);
  }
}

TASUKI_WRAPPER(int, io_submit, void* context, long count, struct iocb** calls) {
  return as_libaio([&] { return submit(reinterpret_cast<aio_context_t>(context), count, calls); });
}
TASUKI_WRAPPER(int, io_getevents, void* context, long least, long most, struct io_event* events,
               struct timespec* timeout) {
  return as_libaio([&] {
    return get_events(SYS_io_getevents, reinterpret_cast<long>(context), least, most, events, timeout, 0);
  });
}
TASUKI_WRAPPER(int, io_cancel, void* context, struct iocb* call, struct io_event* event) {
  return as_libaio([&] {
    return asynchronous(SYS_io_cancel, reinterpret_cast<long>(context), reinterpret_cast<long>(call),
                        reinterpret_cast<long>(event), 0, 0, 0);
  });
}
TASUKI_WRAPPER(int, io_destroy, void* context) {
  return as_libaio([&] { return destroy(reinterpret_cast<long>(context)); });
}

// Into a pipe: pages of a copy, which is given up at once and lives until they are read. Out of it, as readv.
TASUKI_WRAPPER(ssize_t, vmsplice, int fd, const struct iovec* vector, size_t count, unsigned flags) {
  bool any = is_programs(vector, count * sizeof *vector);
  for (size_t i = 0; i < count && i < IOV_MAX && !any; i++)
    any = is_programs(vector[i].iov_base, vector[i].iov_len);
  size_t bytes = any && count <= IOV_MAX ? vector_bytes(vector, static_cast<int>(count)) : SIZE_MAX;
  if (bytes == SIZE_MAX || bytes == 0) return next_vmsplice()(fd, vector, count, flags);
  const int mode = next_fcntl()(fd, F_GETFL, 0) & O_ACCMODE;
  if (mode == O_RDONLY)
    return vector_parts(vector, static_cast<int>(count), true, false, false,
                        [&](const iovec* part, int pieces, size_t) {
                          return next_vmsplice()(fd, part, static_cast<size_t>(pieces), flags);
                        });
  constexpr size_t kMostPipe = 1 << 20;  // no pipe takes more at once
  bytes = std::min(bytes, kMostPipe);
  void* copy = local_memory(bytes);
  if (copy == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  size_t done = 0;
  for (size_t i = 0; done < bytes; i++) {
    const size_t part = std::min(vector[i].iov_len, bytes - done);
    memcpy(static_cast<std::byte*>(copy) + done, vector[i].iov_base, part);
    done += part;
  }
  const iovec one = {copy, bytes};
  const ssize_t n = next_vmsplice()(fd, &one, 1, flags);
  const int error = errno;
  give_back(copy, bytes);
  errno = error;
  return n;
}
