// collectives: what the MPI library's collective operations cannot tell: that one who is waited for in them has ended.
//
// Who calls one says so in its own memory, before and after. An image that has ended looks there now and then: whoever is in an operation
// that this one has not begun waits for ever, and the job ends with a message.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "coarray/fail.h"
#include "coarray/memory.h"
#include "coarray/team.h"

namespace tasuki::coarray {

class Collectives {
 public:
  // Collective over all images.
  void start(Memory* memory, const Team& world);
  void begin(const Team& team, uint64_t number, Where where);
  void end();

  // Called again and again by an image that has ended, until all have; then stop_looking().
  void look(const Teams& teams);
  void stop_looking();

 private:
  // In the memory of the image that waits. Written in the order number, place, team; read twice, a while apart.
  struct Waiting {
    uint64_t team;  // 0: it does not wait
    uint64_t number;
    int64_t line;
    char file[104];
  };
  using Clock = std::chrono::steady_clock;

  Waiting& own() { return *reinterpret_cast<Waiting*>(segment_->begin); }
  bool read(size_t image);
  void examine(size_t image, const Teams& teams);

  Segment* segment_ = nullptr;
  const char* file_ = nullptr;  // as it stands in own()
  // Of an image that has ended.
  std::vector<Waiting> seen_;
  Waiting now_ = {};
  size_t next_image_ = 0;
  bool started_ = false;
  MPI_Request request_ = MPI_REQUEST_NULL;
  Clock::time_point next_look_;
  Clock::duration pause_ = {};
};

// While it lives this image is in a collective operation of the MPI library on the team.
class Collective {
 public:
  Collective(const Team& team, Where where) : Collective(team, ++team.collectives, where) {}
  // In one that it has begun before.
  Collective(const Team& team, uint64_t number, Where where);
  ~Collective();
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;
};

}  // namespace tasuki::coarray
