// device: memory of an accelerator, and what reaches it.
//
//   host    none: OpenACC's regions run on the host, and a coarray's device memory is its host memory, as gcc's fallback has it
//   cuda    NVIDIA's driver library, loaded when the program starts with coarrays in device memory
//
// A segment with device memory has its *mirror* there: the same offsets, other addresses. The mirror of another image is reached
// by the driver (the same process; the same host, by handles that the driver passes between processes), by a window of its own where the
// MPI library takes addresses of the device, and else by that image's courier (courier.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "coarray/cuda_driver.h"
#include "coarray/shape.h"
#include "coarray/team.h"

namespace tasuki::coarray {

class Memory;
struct Segment;

// A segment's device memory in all images.
struct Mirror {
  char* begin = nullptr;  // this image's part, an address of the device; of the host if there is none
  std::vector<char*>
      direct;  // by index in the team: where the driver reaches it from here; nullptr: not at all
  Segment* window = nullptr;  // the same memory as a window of MPI; nullptr: none
};

// Bytes that are here: of the host, or such as the driver reaches.
struct Bytes {
  char* at;
  bool device;
};

class Device {
 public:
  enum class Kind { host, cuda };

  // Collective over all images, which must agree. Called when the program has coarrays in device memory.
  void start(const Team& world);
  // Device memory is other memory than the host's.
  bool apart() const { return kind_ != Kind::host; }

  // Collective over all images: device memory with the segment's bytes in it.
  void mirror(Segment* segment, Memory* memory, const Team& world);
  // Collective.
  void stop(Memory* memory);

  // `to` and `from` have equally many bytes; strides are not negative, and nothing overlaps. May return before bytes that come from
  // device memory and go to device memory are there: synchronize().
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
  void reach(Segment* segment, const Memory& memory, const Team& world);

  Kind kind_ = Kind::host;
  cuda::Driver driver_{};
  cuda::Context context_ = nullptr;
  bool mapped_ = false;  // known to OpenACC
  std::atomic<bool> busy_ = false;
  Segment* mirrored_ = nullptr;
  std::vector<char*> opened_;
  struct Room {
    char* memory = nullptr;
    uint64_t bytes = 0;
  };
  Room scratch_, pinned_;
};

}  // namespace tasuki::coarray
