#include "cluster/wrappers/parts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "generated/next.h"
#include "os/memory/mapping.h"

namespace tasuki::cluster {
namespace {

// A copy where a part of a buffer cannot be pinned: small, unless the call must see all of it.
constexpr size_t kCopy = 64 << 10;
// More room than this is of no use to what a socket gives whole.
constexpr size_t kMostDatagram = 16 << 20;
// One read of a file never brings more than this (man 2 read).
constexpr size_t kMostBytes = 0x7ffff000;

}  // namespace

void* local_memory(size_t bytes) {
  const InternalScope internal;
  return os::map_memory(os::page_ceil(bytes));
}
void give_back(void* p, size_t bytes) {
  const InternalScope internal;
  os::unmap(p, os::page_ceil(bytes));
}

void* find_next(int index) {
  void* found = dlsym(RTLD_NEXT, kWrappedNames[index]);
  if (found == nullptr) {
    log(LogLevel::error, "internal: no function %s behind Tasuki's in this process", kWrappedNames[index]);
    abort();
  }
  g_next[index].store(found, std::memory_order_relaxed);
  return found;
}

namespace {

// Not later (libc.h). What this libc lacks stays unknown: only find_next complains.
[[gnu::constructor]] void find_all() {
  for (int i = 0; i < kWrappedCount; i++)
    if (g_next[i].load() == nullptr) g_next[i].store(dlsym(RTLD_NEXT, kWrappedNames[i]));
}

}  // namespace

Held::Held(std::initializer_list<Area> areas) {
  for (const Area& area : areas) {
    Kept& kept = kept_[count_++];
    kept = {area, area.p, false};
    if (area.bytes == 0 || !touches(area.p, area.bytes)) continue;
    const size_t pinned = pin(area.p, area.bytes, area.access != Access::reads);
    if (pinned >= area.bytes) {
      kept.pinned = true;
      continue;
    }
    unpin(area.p, pinned);
    // An object that other threads use cannot be moved: the touch has brought it at least.
    if (area.access == Access::shared || !permits(area.p, area.bytes, area.access != Access::reads)) continue;
    void* copy = local_memory(area.bytes);
    if (copy == nullptr) {
      complete_ = false;
      errno = ENOMEM;
      return;
    }
    kept.address = memcpy(copy, area.p, area.bytes);
  }
}

Held::~Held() {
  const int error = errno;
  for (size_t i = 0; i < count_; i++) {
    const Kept& kept = kept_[i];
    if (kept.pinned) {
      unpin(kept.area.p, kept.area.bytes);
    } else if (kept.address != kept.area.p) {
      void* copy = const_cast<void*>(kept.address);
      if (kept.area.access == Access::writes) memcpy(const_cast<void*>(kept.area.p), copy, kept.area.bytes);
      give_back(copy, kept.area.bytes);
    }
  }
  errno = error;
}

Piece::Piece(const void* p, size_t bytes, bool write, bool whole)
    : p_(p), bytes_(std::min(bytes, kMostBytes)), write_(write) {
  if (bytes_ == 0) return;
  pinned_ = pin(p, bytes_, write);
  const size_t part = part_of(bytes_, pinned_);
  if (part == bytes_ || (part > 0 && !whole)) {
    bytes_ = part;
    return;
  }
  unpin(p, pinned_);
  pinned_ = 0;
  if (!whole)
    bytes_ = part_of(bytes_, kCopy);
  else if (write)
    bytes_ = std::min(bytes_, kMostDatagram);
  if (!permits(p, bytes_, write)) return;
  copy_ = local_memory(bytes_);
  if (copy_ == nullptr) {
    bytes_ = 0;
    errno = ENOMEM;
  } else if (!write) {
    memcpy(copy_, p, bytes_);
  }
}

Piece::~Piece() {
  const int error = errno;
  if (copy_ != nullptr) {
    if (write_) memcpy(const_cast<void*>(p_), copy_, came_);
    give_back(copy_, bytes_);
  } else {
    unpin(p_, pinned_);
  }
  errno = error;
}

bool reads_fill(int fd) {
  const int error = errno;
  struct stat st;
  const bool known = next_fstat()(fd, &st) == 0;
  errno = error;
  return known && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode));
}

bool is_stream_socket(int fd) {
  const int error = errno;
  int type = SOCK_STREAM;
  socklen_t length = sizeof type;
  // Not a socket: the call itself says so.
  const bool known = next_getsockopt()(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0;
  errno = error;
  return !known || type == SOCK_STREAM;
}

bool must_be_whole(int fd, int flags) {
  return (flags & (MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE)) != 0 || !is_stream_socket(fd);
}

bool waits_for_all(int flags) {
  return (flags & MSG_WAITALL) != 0;
}

bool is_direct(int fd, const void* p, size_t bytes) {
  const int error = errno;
  const int flags = next_fcntl()(fd, F_GETFL, 0);
  errno = error;
  return flags >= 0 && (flags & O_DIRECT) != 0 && touches(p, bytes);
}

bool held_vector(int fd, const iovec* vector, int count) {
  if (guarded_vector(vector, count)) return true;
  for (int i = 0; i < count && vector != nullptr; i++)
    if (held(fd, vector[i].iov_base, vector[i].iov_len)) return true;
  return false;
}

bool guarded_vector(const iovec* vector, int count) {
  if (guarded(vector)) return true;
  for (int i = 0; i < count && vector != nullptr; i++)
    if (guarded(vector[i].iov_base, vector[i].iov_len)) return true;
  return false;
}

size_t vector_bytes(const iovec* vector, int count) {
  if (count < 0 || count > IOV_MAX || vector == nullptr) return SIZE_MAX;
  size_t bytes = 0;
  for (int i = 0; i < count; i++) {
    if (vector[i].iov_len > SSIZE_MAX - bytes) return SIZE_MAX;
    bytes += vector[i].iov_len;
  }
  return bytes;
}

bool Vector::add(void* p, size_t bytes, bool whole, size_t wanted) {
  iovec& piece = pieces_[count_];
  Origin& origin = origins_[count_];
  origin = {p, bytes, false};
  piece = {p, bytes};
  if (bytes > 0 && touches(p, bytes)) {
    const size_t pinned = std::min(pin(p, bytes, write_), bytes);
    if (pinned == bytes || (!whole && part_of(wanted, bytes_ + pinned) > bytes_)) {
      origin.pinned = true;
      piece.iov_len = pinned;
    } else {
      unpin(p, pinned);
      // It waits for the next call if what is before it may go by itself, else it moves on as a copy.
      if (!whole && part_of(wanted, bytes_) > 0) return false;
      piece.iov_len = whole ? bytes : std::min(bytes, kCopy);
      const bool permitted = permits(p, piece.iov_len, write_);
      if (permitted) {
        piece.iov_base = local_memory(piece.iov_len);
        if (piece.iov_base == nullptr) {
          errno = ENOMEM;
          return false;
        }
        if (!write_) memcpy(piece.iov_base, p, piece.iov_len);
      }
    }
  }
  origin.bytes = piece.iov_len;
  bytes_ += piece.iov_len;
  count_++;
  return piece.iov_len == bytes;
}

void Vector::end_with_page(size_t wanted) {
  const size_t part = part_of(wanted, bytes_);
  if (part == 0) return;
  for (int i = count_ - 1; bytes_ > part; i--) {
    const size_t off = std::min(bytes_ - part, pieces_[i].iov_len);
    pieces_[i].iov_len -= off;
    bytes_ -= off;
  }
}

Vector::Vector(const iovec* from, int count, size_t offset, bool write, bool whole) : write_(write) {
  const size_t all = vector_bytes(from, count), wanted = all == SIZE_MAX ? all : all - offset;
  const size_t most = static_cast<size_t>(count);
  if (most > kFew) {
    storage_bytes_ = most * (sizeof(iovec) + sizeof(Origin));
    storage_ = local_memory(storage_bytes_);
    if (storage_ == nullptr) {
      errno = ENOMEM;
      return;
    }
    pieces_ = static_cast<iovec*>(storage_);
    origins_ = reinterpret_cast<Origin*>(pieces_ + most);
  }
  for (int i = 0; i < count; i++) {
    iovec piece = from[i];
    const size_t skipped = std::min(offset, piece.iov_len);
    offset -= skipped;
    piece.iov_len -= skipped;
    piece.iov_base = static_cast<char*>(piece.iov_base) + skipped;
    if (skipped > 0 && piece.iov_len == 0) continue;
    if (!add(piece.iov_base, piece.iov_len, whole, wanted)) {
      if (!whole) end_with_page(wanted);
      return;
    }
  }
}

Vector::~Vector() {
  const int error = errno;
  size_t left = came_;
  for (int i = 0; i < count_; i++) {
    const size_t came = std::min(left, pieces_[i].iov_len);
    left -= came;
    if (origins_[i].pinned) {
      unpin(origins_[i].address, origins_[i].bytes);
    } else if (pieces_[i].iov_base != origins_[i].address) {
      if (write_) memcpy(origins_[i].address, pieces_[i].iov_base, came);
      give_back(pieces_[i].iov_base, origins_[i].bytes);
    }
  }
  if (storage_ != nullptr) give_back(storage_, storage_bytes_);
  errno = error;
}

}  // namespace tasuki::cluster
