// Reads and writes of files that the kernel carries out while the caller does something else, several at
// once: io_uring. One thread at a time makes all calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.h"

namespace tasuki::os {

class TransferRing {
 public:
  // Room for so many that are under way. EPERM, ENOSYS: the system has or permits no io_uring (the filter
  // of a container, kernel.io_uring_disabled); ENOMEM.
  static Result<TransferRing> open(unsigned room);
  TransferRing(TransferRing&&) noexcept;
  TransferRing& operator=(TransferRing&&) noexcept;
  // Waits for what is under way: the kernel writes to its memory.
  ~TransferRing();

  bool full() const { return under_way_ == room_; }
  unsigned under_way() const { return under_way_; }

  // Not full(). Of more than 1 GiB only that much begins, and the result says so. `token` comes back with
  // the result. Begins with start() at the latest.
  void read(int fd, void* to, size_t bytes, uint64_t offset, uint64_t token);
  void write(int fd, const void* from, size_t bytes, uint64_t offset, uint64_t token);
  // 0, or why the kernel takes nothing more now (EAGAIN, EBUSY: later).
  int start();

  struct Done {
    uint64_t token;
    int64_t result;  // bytes, which may be fewer; or an errno value, negative
  };
  // False: none now. Never waits.
  bool next(Done* done);

  // Can be read when next() has one. -1: there is something that start() has to hand over first.
  int descriptor() const;

 private:
  struct Ring;
  TransferRing(std::unique_ptr<Ring> ring, unsigned room);
  void enter(bool write, int fd, void* at, size_t bytes, uint64_t offset, uint64_t token);

  std::unique_ptr<Ring> ring_;
  unsigned room_ = 0, under_way_ = 0;
};

}  // namespace tasuki::os
