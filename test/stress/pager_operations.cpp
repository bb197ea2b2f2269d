// What the threads of the pager's stress do to memory.
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "pager_stress.h"

namespace tasuki::stress {
namespace {

using pager::Faults;

struct Range {
  size_t from, bytes;
};

// A handler that interrupts malloc or fork must not use cluster memory (docs/pager.md, Limits).
class NoHandlers : os::SignalsBlocked {
 public:
  NoHandlers() : SignalsBlocked(os::Blocked::all_but_faults) {}
};
Range any_range(Thread& t, const Block& b, size_t most = SIZE_MAX) {
  const size_t from = t.random() % b.bytes;
  return {from, 1 + t.random() % std::min(b.bytes - from, most)};
}
// Whole pages of the block; none: bytes is 0.
Range any_pages(Thread& t, const Block& b, size_t most = SIZE_MAX) {
  const auto begin = reinterpret_cast<uintptr_t>(b.at);
  const size_t first = (begin + kPage - 1) / kPage * kPage - begin;
  if (b.bytes < first + kPage) return {0, 0};
  const size_t pages = (b.bytes - first) / kPage, from = t.random() % pages;
  return {first + from * kPage, (1 + t.random() % std::min(pages - from, most / kPage)) * kPage};
}
void fill(Thread& t, std::byte* at, size_t bytes) {
  uint64_t word = t.random();
  for (size_t i = 0; i < bytes; i++) {
    at[i] = static_cast<std::byte>(word >> i % 7);
    if (i % 64 == 0) word = word * 6364136223846793005u + 1442695040888963407u;
  }
}

void store(World&, Thread& t, Block& b) {
  const Range r = any_range(t, b);
  fill(t, b.copy + r.from, r.bytes);
  if (t.random() % 2 == 0) {
    memcpy(b.at + r.from, b.copy + r.from, r.bytes);
  } else {
    for (size_t i = r.from; i < r.from + r.bytes; i++) const_cast<volatile std::byte&>(b.at[i]) = b.copy[i];
  }
}
void load(World&, Thread& t, Block& b) {
  const Range r = any_range(t, b);
  check(t, b, r.from, r.bytes);
}
void copy_inside(World&, Thread& t, Block& b) {
  Block& from = t.blocks[t.random() % t.blocks.size()];
  const size_t bytes = 1 + t.random() % std::min(b.bytes, from.bytes);
  memmove(b.at, from.at, bytes);
  memmove(b.copy, from.copy, bytes);
}
void add(World& w, Thread& t, Block&) {
  for (int i = 0; i < 50; i++)
    std::atomic_ref(w.counters[t.random() % (World::kCounters * kPage / 8)]).fetch_add(1);
  t.added += 50;
}

// --- system calls

void expect(const char* what, ssize_t got, size_t bytes) {
  if (got < 0) wrong("%s: %s", what, strerror(errno));
  if (static_cast<size_t>(got) != bytes) wrong("%s: %zd bytes instead of %zu", what, got, bytes);
}

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
void read_file(World& w, Thread& t, Block& b) {
  file_in(w.in, w, t, b, any_range(t, b), false);
}
void read_direct(World& w, Thread& t, Block& b) {
  const Range r = any_pages(t, b);
  if (r.bytes > 0) file_in(w.in_direct, w, t, b, r, true);
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
  if (memcmp(t.local, b.copy + r.from, r.bytes) != 0)
    wrong("thread %d: a write brought wrong bytes into the file", t.id);
}
void write_file(World& w, Thread& t, Block& b) {
  file_out(w.out, w, t, b, any_range(t, b, World::kOut));
}
void write_direct(World& w, Thread& t, Block& b) {
  const Range r = any_pages(t, b, World::kOut);
  if (r.bytes > 0) file_out(w.out_direct, w, t, b, r);
}

void drain(Thread& t, const Block& b, const Range& r) {
  expect("read of a pipe", ::read(t.ends[0], t.local, r.bytes), r.bytes);
  if (memcmp(t.local, b.copy + r.from, r.bytes) != 0)
    wrong("thread %d: wrong bytes came through a pipe", t.id);
}
void through_pipe(World&, Thread& t, Block& b) {
  const Range r = any_range(t, b, 16 * kPage);
  expect("write to a pipe", ::write(t.ends[1], b.at + r.from, r.bytes), r.bytes);
  drain(t, b, r);
}
// The pages are the pipe's until they are read, long after they have left.
void splice_pages(World& w, Thread& t, Block& b) {
  const Range r = any_range(t, b, 8 * kPage);
  const iovec part = {b.at + r.from, r.bytes};
  expect("vmsplice", vmsplice(t.ends[1], &part, 1, 0), r.bytes);
  for (int i = 0; i < 20; i++) {
    Block& other = t.blocks[t.random() % t.blocks.size()];
    if (other.at != b.at) store(w, t, other);
  }
  drain(t, b, r);
}

// Another process reads and writes here.
void by_another_process(World&, Thread& t, Block& b) {
  const Range r = any_range(t, b, Thread::kLocal);
  fill(t, b.copy + r.from, r.bytes);
  const NoHandlers none;
  const pid_t parent = getpid(), pid = fork();
  if (pid < 0) return;
  if (pid == 0) {
    const iovec own = {b.copy + r.from, r.bytes}, remote = {b.at + r.from, r.bytes};
    const bool ok = process_vm_writev(parent, &own, 1, &remote, 1, 0) == static_cast<ssize_t>(r.bytes);
    _exit(ok ? 0 : errno);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    wrong("process_vm_writev: %s", strerror(WEXITSTATUS(status)));
  check(t, b, r.from, r.bytes);
}

void fork_child(World&, Thread&, Block&) {
  const NoHandlers none;
  const pid_t pid = fork();
  if (pid == 0) _exit(7);
  if (pid < 0) return;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) wrong("a child ended with status %d", status);
}

// --- asynchronous transfers

void by_aio(World& w, Thread& t, Block& b) {
  const Range r = any_pages(t, b, 64 * kPage);
  if (r.bytes == 0) return;
  aio_context_t context = 0;
  if (syscall(SYS_io_setup, 4, &context) != 0) return;  // the system's limit
  const size_t half = r.bytes / kPage / 2 * kPage, offset = t.random() % 512 * kPage;
  iocb calls[2] = {};
  iocb* list[2];
  int count = 0;
  for (const auto& [from, bytes] : {Range{0, half}, Range{half, r.bytes - half}}) {
    if (bytes == 0) continue;
    iocb& call = calls[count];
    call.aio_lio_opcode = IOCB_CMD_PREAD;
    call.aio_fildes = static_cast<uint32_t>(w.in_direct);
    call.aio_buf = reinterpret_cast<uintptr_t>(b.at + r.from + from);
    call.aio_nbytes = bytes;
    call.aio_offset = static_cast<int64_t>(offset + from);
    list[count] = &calls[count];
    count++;
  }
  expect("io_submit", syscall(SYS_io_submit, context, count, list), static_cast<size_t>(count));
  io_event events[2];
  int came = 0;
  while (came < count) {
    const long n = syscall(SYS_io_getevents, context, 1, count - came, events + came, nullptr);
    if (n < 0 && errno != EINTR) wrong("io_getevents: %s", strerror(errno));
    if (n > 0) came += static_cast<int>(n);
  }
  for (int i = 0; i < count; i++) {
    const auto* call = reinterpret_cast<const iocb*>(events[i].obj);
    if (call != list[0] && call != list[count - 1])
      wrong("io_getevents tells of a transfer that nobody began");
    if (events[i].res != static_cast<int64_t>(call->aio_nbytes))
      wrong("a transfer of libaio: %lld", static_cast<long long>(events[i].res));
  }
  syscall(SYS_io_destroy, context);
  memcpy(b.copy + r.from, w.file + offset, r.bytes);
  check(t, b, r.from, r.bytes);
}

// A ring of its own for each call: with a buffer that the kernel registers (and pins as long), or without.
void by_ring(World& w, Thread& t, Block& b, bool registered) {
  const Range r = any_pages(t, b, 64 * kPage);
  if (r.bytes == 0) return;
  io_uring_params params = {};
  const int fd = static_cast<int>(syscall(SYS_io_uring_setup, 4, &params));
  if (fd < 0) return;
  const iovec buffer = {b.at + r.from, r.bytes};
  if (registered && syscall(SYS_io_uring_register, fd, IORING_REGISTER_BUFFERS, &buffer, 1) != 0)
    wrong("io_uring_register: %s", strerror(errno));
  const size_t ring_bytes = params.sq_off.array + params.sq_entries * 4,
               done_bytes = params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe);
  const auto map = [&](size_t bytes, uint64_t what) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(what));
    if (p == MAP_FAILED) wrong("io_uring: %s", strerror(errno));
    return static_cast<std::byte*>(p);
  };
  std::byte* ring = map(ring_bytes, IORING_OFF_SQ_RING);
  std::byte* done = map(done_bytes, IORING_OFF_CQ_RING);
  std::byte* entries = map(params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
  const size_t offset = t.random() % 512 * kPage;
  auto* entry = reinterpret_cast<io_uring_sqe*>(entries);
  *entry = {};
  entry->opcode = registered ? IORING_OP_READ_FIXED : IORING_OP_READ;
  entry->fd = w.in_direct;
  entry->addr = reinterpret_cast<uintptr_t>(b.at + r.from);
  entry->len = static_cast<uint32_t>(r.bytes);
  entry->off = offset;
  reinterpret_cast<uint32_t*>(ring + params.sq_off.array)[0] = 0;
  std::atomic_ref(*reinterpret_cast<uint32_t*>(ring + params.sq_off.tail)).fetch_add(1);
  unsigned to_submit = 1;
  auto& tail = *reinterpret_cast<uint32_t*>(done + params.cq_off.tail);
  while (std::atomic_ref(tail).load() == 0) {
    const long n = syscall(SYS_io_uring_enter, fd, to_submit, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
    if (n < 0 && errno != EINTR) wrong("io_uring_enter: %s", strerror(errno));
    if (n > 0) to_submit = 0;
  }
  const int got = reinterpret_cast<io_uring_cqe*>(done + params.cq_off.cqes)->res;
  if (got != static_cast<int>(r.bytes)) wrong("a transfer of io_uring: %d instead of %zu", got, r.bytes);
  memcpy(b.copy + r.from, w.file + offset, r.bytes);
  check(t, b, r.from, r.bytes);
  munmap(ring, ring_bytes);
  munmap(done, done_bytes);
  munmap(entries, params.sq_entries * sizeof(io_uring_sqe));
  close(fd);
}
void by_uring(World& w, Thread& t, Block& b) {
  by_ring(w, t, b, false);
}
void by_uring_registered(World& w, Thread& t, Block& b) {
  by_ring(w, t, b, true);
}

// --- what else programs ask of memory

void lock(World&, Thread& t, Block& b) {
  const Range r = any_range(t, b);
  if (mlock(b.at + r.from, r.bytes) != 0 && errno != ENOMEM && errno != EAGAIN && errno != EPERM)
    wrong("mlock: %s", strerror(errno));
  check(t, b, r.from, r.bytes);
  if (t.random() % 2 == 0) munlock(b.at + r.from, r.bytes);
}
void lock_all(World& w, Thread& t, Block& b) {
  if (mlockall(t.random() % 2 == 0 ? MCL_CURRENT : MCL_CURRENT | MCL_FUTURE) == 0) {
    store(w, t, b);
    munlockall();
  }
}
void synchronize(World&, Thread& t, Block& b) {
  const Range r = any_pages(t, b);
  if (r.bytes > 0 && msync(b.at + r.from, r.bytes, MS_ASYNC) != 0) wrong("msync: %s", strerror(errno));
}
// The program's own madvise: zeros, or what was there where it left in between.
void discard(World&, Thread& t, Block& b) {
  const Range r = any_pages(t, b, 4 * kPage);
  if (r.bytes == 0) return;
  if (madvise(b.at + r.from, r.bytes, MADV_DONTNEED) != 0 && errno != EINVAL)  // EINVAL: locked
    wrong("madvise: %s", strerror(errno));
  for (size_t page = r.from; page < r.from + r.bytes; page += kPage) {
    bool zero = true;
    memcpy(t.local, b.at + page, kPage);
    for (size_t i = 0; i < kPage; i++) zero = zero && t.local[i] == std::byte{0};
    if (zero) memset(b.copy + page, 0, kPage);
  }
  check(t, b, r.from, r.bytes);
}
void advise(World& w, Thread& t, Block& b) {
  const NoHandlers none;
  const Range r = any_range(t, b);
  const auto advice = static_cast<pager::Advice>(t.random() % 6);
  const Status status = w.pager->advise(b.at + r.from, r.bytes, advice);
  if (!status.ok() && status.err() != ENOMEM) wrong("advice: %s", status.message().c_str());
  check(t, b, r.from, r.bytes);
  if (advice == pager::Advice::keep_local)
    (void)w.pager->advise(b.at + r.from, r.bytes, pager::Advice::normal);
}
void allocate(World& w, Thread& t, Block&) {
  const NoHandlers none;
  const size_t bytes = 1 + t.random() % (200 * kPage);
  Result<void*> got = w.pager->allocate(bytes, 64, 0);
  if (!got.ok()) return;  // full
  auto* at = static_cast<std::byte*>(got.value());
  cluster::note_allocation(at, bytes);
  fill(t, t.local, bytes);
  for (size_t i = 0; i < bytes; i += 1000)
    if (at[i] != std::byte{0}) wrong("thread %d: new memory is not zero", t.id);
  memcpy(at, t.local, bytes);
  if (memcmp(at, t.local, bytes) != 0) wrong("thread %d: wrong bytes in new memory", t.id);
  cluster::forget_allocation(at, bytes);
  const Status freed = w.pager->free(at);
  if (!freed.ok()) wrong("free: %s", freed.message().c_str());
}

// --- where it can be promised (docs/pager.md)

bool has_direct(const World& w) {
  return w.in_direct >= 0 && w.out_direct >= 0;
}
// Pins that no wrapper sees: only pages that move tell of them, and absent ones come only where the kernel's faults are served.
bool sees_pins(const World& w) {
  return w.faults == Faults::userfault && has_direct(w);
}
bool moves(const World& w) {
  return w.faults != Faults::userfault_copy && w.faults != Faults::signal;
}
bool not_signal(const World& w) {
  return w.faults != Faults::signal;
}

}  // namespace

void check(const Thread& thread, const Block& block, size_t from, size_t bytes) {
  if (memcmp(block.at + from, block.copy + from, bytes) == 0) return;
  size_t i = from;
  while (i < from + bytes && block.at[i] == block.copy[i]) i++;
  size_t last = from + bytes;
  while (last > i && block.at[last - 1] == block.copy[last - 1]) last--;
  wrong("thread %d, %s: byte %zu of a block of %zu at %p is %d instead of %d, the last wrong one is %zu",
        thread.id, thread.what.load(), i, block.bytes, static_cast<void*>(block.at),
        static_cast<int>(block.at[i]), static_cast<int>(block.copy[i]), last - 1);
}

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {
      {"store", 20, store, nullptr},
      {"load", 20, load, nullptr},
      {"copy", 10, copy_inside, nullptr},
      {"add", 10, add, nullptr},
      {"read", 6, read_file, nullptr},
      {"write", 6, write_file, nullptr},
      {"read_direct", 10, read_direct, has_direct},
      {"write_direct", 5, write_direct, has_direct},
      {"pipe", 5, through_pipe, nullptr},
      {"vmsplice", 3, splice_pages, nullptr},
      {"process", 1, by_another_process, sees_pins},
      {"fork", 1, fork_child, nullptr},
      {"aio", 4, by_aio, has_direct},
      {"uring", 4, by_uring, sees_pins},
      {"uring_registered", 4, by_uring_registered, sees_pins},
      {"mlock", 2, lock, not_signal},
      {"mlockall", 1, lock_all, not_signal},
      {"msync", 1, synchronize, nullptr},
      {"discard", 2, discard, moves},
      {"advise", 3, advise, nullptr},
      {"allocate", 2, allocate, nullptr},
  };
  return all;
}

}  // namespace tasuki::stress
