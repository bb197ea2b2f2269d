// Making cluster memory safe for a system call: pinned while the call lasts; what is larger than can be
// pinned at once goes in parts, such that the program sees no difference; what must go whole and cannot be
// pinned is copied.
//
// Used only where the kernel cannot serve its own faults (pinning.h: needs_pin). Budget: a call whose buffers
// are elsewhere costs two compares.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "cluster/wrappers/pinning.h"
#include "os/memory/mapping.h"

namespace tasuki::cluster {

// Memory for copies, where cluster memory cannot be used: whole pages, also in signal handlers, where there
// is no malloc.
void* local_memory(size_t bytes);
void give_back(void* p, size_t bytes);

enum class Access {
  reads,
  writes,
  shared
};  // by the kernel; shared: written, and others look at it meanwhile

struct Area {
  const void* p;
  size_t bytes;
  Access access;
};
inline Area text(const char* p) {
  return {p, p != nullptr && guarded(p) ? strlen(p) + 1 : 0, Access::reads};
}
inline size_t value_at(const unsigned* length) {
  return length != nullptr ? *length : 0;
}
inline size_t set_bytes(int count) {
  return count > 0 ? (static_cast<size_t>(count) + 63) / 64 * 8 : 0;
}

// The areas of one call, at addresses that the kernel may use until the end of this object's life.
class Held {
 public:
  Held(std::initializer_list<Area> areas);
  ~Held();
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  bool complete() const { return complete_; }  // false: no memory for a copy, errno is ENOMEM
  template <typename Pointer>
  Pointer at(size_t i) const {
    // The address that the caller gave, or a copy of what is there: constness is the caller's.
    return static_cast<Pointer>(const_cast<void*>(kept_[i].address));
  }

 private:
  struct Kept {
    Area area;
    const void* address;
    bool pinned;
  };
  static constexpr size_t kMost = 5;
  Kept kept_[kMost];
  size_t count_ = 0;
  bool complete_ = true;
};

// The most of `bytes` that may go by itself where `most` could: what is left for later calls is whole pages.
// So the blocks of O_DIRECT stay whole, and the pages of a pipe are filled as by one call: it holds no less.
// 0: nothing may.
inline size_t part_of(size_t bytes, size_t most) {
  if (most >= bytes) return bytes;
  const size_t left = os::page_ceil(bytes - most);
  return left < bytes ? bytes - left : 0;
}

// One piece of a buffer: pinned if that is possible, else a small copy.
class Piece {
 public:
  Piece(const void* p, size_t bytes, bool write, bool whole);
  ~Piece();  // brings back what came into the copy
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  void* at() const { return copy_ != nullptr ? copy_ : const_cast<void*>(p_); }
  size_t bytes() const { return bytes_; }  // 0: no memory, errno is ENOMEM
  void came(ssize_t bytes) { came_ = bytes > 0 ? std::min(static_cast<size_t>(bytes), bytes_) : 0; }

 private:
  const void* p_;
  size_t bytes_;
  bool write_;
  size_t pinned_ = 0;  // no less than bytes_, or 0
  void* copy_ = nullptr;
  size_t came_ = 0;
};

// Does a read of this descriptor give all that was asked for, up to the end? True for files; a pipe, a socket
// or a terminal gives what it has, and asking again could wait.
bool reads_fill(int fd);
// True also of what is no socket.
bool is_stream_socket(int fd);
// A peek looks at the same bytes again, a datagram is given once: neither can be taken in parts.
bool must_be_whole(int fd, int flags);
bool waits_for_all(int flags);
// None of these changes errno.

// As read(2) and write(2) of [p, p + length), by call(part, bytes, offset of the part).
template <typename Call>
ssize_t in_parts(const void* p, size_t length, bool write, bool again, bool whole, Call call) {
  size_t done = 0;
  do {
    ssize_t n;
    size_t bytes;
    {
      Piece piece(static_cast<const char*>(p) + done, length - done, write, whole);
      bytes = piece.bytes();
      if (bytes == 0 && length > done) return done > 0 ? static_cast<ssize_t>(done) : -1;
      n = call(piece.at(), bytes, done);
      piece.came(n);
    }
    if (n < 0) return done > 0 ? static_cast<ssize_t>(done) : n;
    if (whole) return n;  // may exceed `bytes`: MSG_TRUNC
    done += static_cast<size_t>(n);
    if (static_cast<size_t>(n) < bytes) break;
  } while (again && done < length);
  return static_cast<ssize_t>(done);
}

template <typename Call>
ssize_t receive_parts(int fd, void* p, size_t length, Call call) {
  return in_parts(p, length, true, reads_fill(fd), must_be_whole(fd, 0), call);
}
template <typename Call>
ssize_t send_parts(int fd, const void* p, size_t length, Call call) {
  return in_parts(p, length, false, true, must_be_whole(fd, 0), call);
}
template <typename Call>
ssize_t receive_socket_parts(int fd, void* p, size_t length, int flags, Call call) {
  return in_parts(p, length, true, waits_for_all(flags), must_be_whole(fd, flags), call);
}
template <typename Call>
ssize_t send_socket_parts(int fd, const void* p, size_t length, int, Call call) {
  return send_parts(fd, p, length, call);
}

// readv and writev. A Vector holds pinned pieces of the array from a position on, as many as fit.
class Vector {
 public:
  // From `offset` bytes behind the beginning of the array.
  Vector(const iovec* from, int count, size_t offset, bool write, bool whole);
  ~Vector();
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;

  iovec* pieces() { return pieces_; }
  int count() const { return count_; }
  size_t bytes() const { return bytes_; }
  void came(ssize_t bytes) { came_ = bytes > 0 ? std::min(static_cast<size_t>(bytes), bytes_) : 0; }

 private:
  struct Origin {
    void* address;
    size_t bytes;  // of the piece, before what is too much was taken off
    bool pinned;
  };
  void end_with_page(size_t wanted);
  bool add(void* p, size_t bytes, bool whole, size_t wanted);
  static constexpr size_t kFew = 8;
  iovec few_pieces_[kFew];
  Origin few_origins_[kFew];
  void* storage_ = nullptr;
  size_t storage_bytes_ = 0;
  iovec* pieces_ = few_pieces_;
  Origin* origins_ = few_origins_;
  int count_ = 0;
  size_t bytes_ = 0, came_ = 0;
  bool write_;
};

// What a device reads or writes past the page tables is held everywhere: where pages are copied to leave,
// nothing shows that it does so, and some file systems (NFS, Lustre) use memory without counting as its
// users.
bool is_direct(int fd, const void* p, size_t bytes);
inline bool held(int fd, const void* p, size_t bytes) {
  return guarded(p, bytes) || (t_internal == 0 && g_cluster.near(p, bytes) && is_direct(fd, p, bytes));
}

bool guarded_vector(const iovec* vector, int count);
bool held_vector(int fd, const iovec* vector, int count);
// The length of all pieces; SIZE_MAX when the kernel would refuse the array (EINVAL).
size_t vector_bytes(const iovec* vector, int count);

template <typename Call>
ssize_t vector_parts(const iovec* vector, int count, bool write, bool again, bool whole, Call call) {
  const size_t length = vector_bytes(vector, count);
  if (length == SIZE_MAX) return call(vector, count, 0);
  size_t done = 0;
  do {
    ssize_t n;
    size_t bytes;
    {
      Vector part(vector, count, done, write, whole);
      bytes = part.bytes();
      if (bytes == 0 && length > done) return done > 0 ? static_cast<ssize_t>(done) : -1;
      n = call(part.pieces(), part.count(), done);
      part.came(n);
    }
    if (n < 0) return done > 0 ? static_cast<ssize_t>(done) : n;
    if (whole) return n;
    done += static_cast<size_t>(n);
    if (static_cast<size_t>(n) < bytes) break;
  } while (again && done < length);
  return static_cast<ssize_t>(done);
}
template <typename Call>
ssize_t receive_vector(int fd, const iovec* vector, int count, Call call) {
  return vector_parts(vector, count, true, reads_fill(fd), must_be_whole(fd, 0), call);
}
template <typename Call>
ssize_t send_vector(int fd, const iovec* vector, int count, Call call) {
  return vector_parts(vector, count, false, true, must_be_whole(fd, 0), call);
}

}  // namespace tasuki::cluster
