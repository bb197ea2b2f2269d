#include "os/files/transfer_ring.h"

#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "os/files/descriptor.h"

namespace tasuki::os {

// The kernel's own limit of a read or write is a little less than 2 GiB.
constexpr size_t kMostBytes = size_t{1} << 30;

struct TransferRing::Ring {
  io_uring uring;
  ~Ring() { io_uring_queue_exit(&uring); }
};

TransferRing::TransferRing(std::unique_ptr<Ring> ring, unsigned room) : ring_(std::move(ring)), room_(room) {}
TransferRing::TransferRing(TransferRing&& other) noexcept
    : ring_(std::move(other.ring_)), room_(other.room_), under_way_(std::exchange(other.under_way_, 0)) {}
TransferRing& TransferRing::operator=(TransferRing&& other) noexcept {
  std::swap(ring_, other.ring_);
  std::swap(room_, other.room_);
  std::swap(under_way_, other.under_way_);
  return *this;
}

TransferRing::~TransferRing() {
  if (ring_ == nullptr) return;
  const int refused = start();
  for (Done done; refused == 0 && under_way_ > 0;) {
    io_uring_cqe* entry = nullptr;
    const int rc = io_uring_wait_cqe(&ring_->uring, &entry);
    if (rc != 0 && rc != -EINTR) break;
    next(&done);
  }
}

Result<TransferRing> TransferRing::open(unsigned room) {
  // Not made by a constructor of Ring: one that failed must not be taken apart.
  io_uring made = {};
  const int rc = io_uring_queue_init(room, &made, 0);
  if (rc < 0) return Status::error(-rc, std::string("io_uring: ") + strerror(-rc));
  io_uring_probe* const can = io_uring_get_probe_ring(&made);
  const bool transfers = can != nullptr && io_uring_opcode_supported(can, IORING_OP_READ) != 0 &&
                         io_uring_opcode_supported(can, IORING_OP_WRITE) != 0;
  if (can != nullptr) io_uring_free_probe(can);
  if (!transfers) {
    io_uring_queue_exit(&made);
    return Status::error(ENOSYS, "io_uring: this kernel cannot read and write by it (Linux 5.6)");
  }
  if (const int moved = out_of_the_way(made.ring_fd).release(); moved >= 0) {
    close(made.ring_fd);
    made.ring_fd = made.enter_ring_fd = moved;
  }
  io_uring_ring_dontfork(&made);  // a child of the program must not touch it
  auto ring = std::make_unique<Ring>();
  ring->uring = made;
  return TransferRing(std::move(ring), room);
}

void TransferRing::enter(bool write, int fd, void* at, size_t bytes, uint64_t offset, uint64_t token) {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_->uring);  // as it is not full, there is one
  const auto length = static_cast<unsigned>(std::min(bytes, kMostBytes));
  if (write)
    io_uring_prep_write(entry, fd, at, length, offset);
  else
    io_uring_prep_read(entry, fd, at, length, offset);
  io_uring_sqe_set_data64(entry, token);
  under_way_++;
}

void TransferRing::read(int fd, void* to, size_t bytes, uint64_t offset, uint64_t token) {
  enter(false, fd, to, bytes, offset, token);
}

void TransferRing::write(int fd, const void* from, size_t bytes, uint64_t offset, uint64_t token) {
  enter(true, fd, const_cast<void*>(from), bytes, offset, token);
}

int TransferRing::start() {
  for (;;) {
    const int rc = io_uring_sq_ready(&ring_->uring) > 0 ? io_uring_submit(&ring_->uring) : 0;
    if (rc >= 0) return 0;
    if (rc != -EINTR) return -rc;
  }
}

bool TransferRing::next(Done* done) {
  io_uring_cqe* entry = nullptr;
  if (io_uring_peek_cqe(&ring_->uring, &entry) != 0) return false;
  *done = {io_uring_cqe_get_data64(entry), entry->res};
  io_uring_cqe_seen(&ring_->uring, entry);
  under_way_--;
  return true;
}

int TransferRing::descriptor() const {
  return io_uring_sq_ready(&ring_->uring) == 0 ? ring_->uring.ring_fd : -1;
}

}  // namespace tasuki::os
