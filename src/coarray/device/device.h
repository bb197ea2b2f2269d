// device: memory of an accelerator, and what reaches it.
//
//   host    none: OpenACC's regions run on the host, and a coarray's device memory is its host memory, as gcc's fallback has it
//   cuda    NVIDIA's driver library, loaded when the program starts with coarrays in device memory
//
// A segment with device memory has its *mirror* there: the same offsets, other addresses. The mirror of
// another image is reached by the driver (the same process; the same host, by handles that the driver passes
// between processes), by a window of its own where the MPI library takes addresses of the device, and else by
// that image's courier (courier.h).
//
// Memory that the clauses of OpenACC put on the device (`enter data`, `data`) comes and goes, so others reach
// it by the courier only: the image tells it where the memory is (`at`) when the memory takes part in
// something.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "coarray/device/cuda_driver.h"
#include "coarray/index/shape.h"
#include "coarray/local/memory.h"

namespace tasuki::coarray {

// Bytes that are here: of the host, or such as the driver reaches.
struct Bytes {
  char* at;
  bool device;
};

class Device {
 public:
  enum class Kind { host, cuda };

  // Collective over all images, which must agree. Called when the program uses device memory.
  void start(const Team& world);
  // Device memory is other memory than the host's.
  bool apart() const { return kind_ != Kind::host; }

  // Collective over the segment's team: device memory with the segment's bytes in it; its end, which comes
  // before the segment's own.
  void mirror(Segment* segment, Memory* memory);
  void unmirror(Segment* segment, Memory* memory);
  // Behind the last mirror.
  void stop();

  // Where the bytes are that stand for host memory [host, host + bytes) here: in a mirror, or where OpenACC
  // has put them. nullptr: they are not on the device. Others may ask this image's courier for them from now
  // on.
  char* address(const Segment* segment, const void* host, uint64_t bytes);
  // For the courier: of what has been asked for, or is in a mirror.
  char* known_address(const char* host, uint64_t bytes);
  // The host memory is given back.
  void forget(const char* host, uint64_t bytes);
  // All that OpenACC has begun here is done.
  void finish_regions();

  // `to` and `from` have equally many bytes; strides are not negative, and nothing overlaps. May return
  // before bytes that come from device memory and go to device memory are there: synchronize().
  void copy(Bytes to, const Shape& to_shape, Bytes from, const Shape& from_shape);
  void synchronize();

  // Memory for one transfer at a time.
  char* scratch(uint64_t bytes);  // on the device
  char* pinned(uint64_t bytes);   // on the host

 private:
  struct Piece;
  void check(int result, const char* what) const;
  bool open_driver(const char** why, bool* wanted);
  void copy_piece(const Piece& piece);
  template <typename Copy>
  static Copy ends(const Piece& piece);
  void reach(Segment* segment, const Memory& memory);
  void know(const char* host, uint64_t bytes, char* device);

  Kind kind_ = Kind::host;
  cuda::Driver driver_{};
  cuda::Context context_ = nullptr;
  bool has_regions_ = false;  // OpenACC's regions run on this device
  std::atomic<bool> busy_ = false;
  struct Known {
    const char* host;
    uint64_t bytes;
    char* device;
  };
  std::mutex guard_;  // of known_, which the courier reads
  std::vector<Known> known_;
  struct Room {
    char* memory = nullptr;
    uint64_t bytes = 0;
  };
  Room scratch_, pinned_;
};

}  // namespace tasuki::coarray
