// Transfers that go on while the thread does something else: libaio, which has wrappers, and io_uring, which
// has none.
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "operations.h"

namespace tasuki::stress {
namespace {

using pager::Faults;

constexpr size_t kMost = 64 * kPage;

// A ring for one transfer.
class Ring {
 public:
  Ring() : fd_(static_cast<int>(syscall(SYS_io_uring_setup, 4, &params_))) {
    if (fd_ < 0) wrong("io_uring_setup: %s", strerror(errno));
    ring_bytes_ = params_.sq_off.array + params_.sq_entries * 4;
    done_bytes_ = params_.cq_off.cqes + params_.cq_entries * sizeof(io_uring_cqe);
    ring_ = map(ring_bytes_, IORING_OFF_SQ_RING);
    done_ = map(done_bytes_, IORING_OFF_CQ_RING);
    entries_ = map(params_.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
  }
  ~Ring() {
    munmap(ring_, ring_bytes_);
    munmap(done_, done_bytes_);
    munmap(entries_, params_.sq_entries * sizeof(io_uring_sqe));
    close(fd_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // The kernel pins it as long as the ring lives.
  void use(void* at, size_t bytes) {
    const iovec buffer = {at, bytes};
    if (syscall(SYS_io_uring_register, fd_, IORING_REGISTER_BUFFERS, &buffer, 1) != 0)
      wrong("io_uring_register: %s", strerror(errno));
  }
  void begin(const io_uring_sqe& entry) {
    *reinterpret_cast<io_uring_sqe*>(entries_) = entry;
    reinterpret_cast<uint32_t*>(ring_ + params_.sq_off.array)[0] = 0;
    std::atomic_ref(*reinterpret_cast<uint32_t*>(ring_ + params_.sq_off.tail)).fetch_add(1);
    while (enter(1, 0, 0) != 1) {
    }
  }
  int end() {
    auto& tail = *reinterpret_cast<uint32_t*>(done_ + params_.cq_off.tail);
    while (std::atomic_ref(tail).load() == 0) enter(0, 1, IORING_ENTER_GETEVENTS);
    return reinterpret_cast<io_uring_cqe*>(done_ + params_.cq_off.cqes)->res;
  }

 private:
  std::byte* map(size_t bytes, uint64_t what) const {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, static_cast<off_t>(what));
    if (p == MAP_FAILED) wrong("io_uring: %s", strerror(errno));
    return static_cast<std::byte*>(p);
  }
  long enter(unsigned submitted, unsigned awaited, unsigned flags) const {
    const long n = syscall(SYS_io_uring_enter, fd_, submitted, awaited, flags, nullptr, 0);
    if (n < 0 && errno != EINTR) wrong("io_uring_enter: %s", strerror(errno));
    return n;
  }

  io_uring_params params_ = {};
  int fd_;
  size_t ring_bytes_, done_bytes_;
  std::byte *ring_, *done_, *entries_;
};

// Direct transfers, past the page cache.
void by_ring(World& w, Thread& t, Block& b, bool registered) {
  Range r = any_pages(t, b, kMost);
  const bool writes = t.random() % 3 == 0;
  Held held(w, b, &r, true);
  if (r.bytes == 0) return;
  const size_t offset = writes ? static_cast<size_t>(t.id) * World::kOut : t.random() % 512 * kPage;
  Ring ring;
  if (registered) {
    ring.use(b.at + r.from, r.bytes);
    if (w.faults == Faults::userfault_user_mode || w.faults == Faults::userfault_sigbus)
      held.end();  // pages move: the pager sees it
  }
  io_uring_sqe entry = {};
  if (writes)
    entry.opcode = registered ? IORING_OP_WRITE_FIXED : IORING_OP_WRITE;
  else
    entry.opcode = registered ? IORING_OP_READ_FIXED : IORING_OP_READ;
  entry.fd = writes ? w.out_direct : w.in_direct;
  entry.addr = reinterpret_cast<uintptr_t>(b.at + r.from);
  entry.len = static_cast<uint32_t>(r.bytes);
  entry.off = offset;
  ring.begin(entry);
  go_on_elsewhere(w, t, b, t.random() % 4);
  const int got = ring.end();
  if (got == -ECANCELED) return;  // signals kept the kernel from starting a thread for it
  if (got != static_cast<int>(r.bytes)) wrong("a transfer of io_uring: %d instead of %zu", got, r.bytes);
  if (writes) {
    expect("pread", pread(w.out, t.local, r.bytes, static_cast<off_t>(offset)), r.bytes);
    check_local(t, b.copy + r.from, r.bytes);
  } else {
    memcpy(b.copy + r.from, w.file + offset, r.bytes);
  }
  check(t, b, r.from, r.bytes);
}

}  // namespace

void by_uring(World& w, Thread& t, Block& b) {
  by_ring(w, t, b, false);
}
void by_uring_registered(World& w, Thread& t, Block& b) {
  by_ring(w, t, b, true);
}

void by_aio(World& w, Thread& t, Block& b) {
  const Range r = any_pages(t, b, kMost);
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

}  // namespace tasuki::stress
