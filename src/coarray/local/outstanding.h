// outstanding: puts and gets through one segment's window, from this image, that are not complete everywhere.
//
// MPI orders nothing between two operations on the same bytes, but this image's own must take effect in
// program order (as in Fortran's segments). So each target's ranges under way are remembered, and what
// overlaps one of them waits for it, and nothing else does.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "coarray/index/shape.h"
#include "coarray/local/direction.h"

namespace tasuki::coarray {

struct Segment;

class Outstanding {
 public:
  explicit Outstanding(const Segment& segment);

  // A typed buffer for MPI: `count` of `type` at `address`, or, at a target, at `offset` in the segment.
  struct Buffer {
    int count;
    MPI_Datatype type;
  };

  // To be called before a put or get of bytes of [begin, end) of the segment.
  void announce(int target, uint64_t begin, uint64_t end, Direction direction);
  // After a put the source is still in use until local().
  void put(int target, const void* from, Buffer origin, uint64_t to, Buffer remote);
  void get(int target, void* to, Buffer origin, uint64_t from, Buffer remote);

  // Complete here: sources may be changed, destinations read. One target, or all.
  void local(int target);
  void local_all();
  // Complete at the targets too.
  void flush(int target);
  void flush_all();
  // For other operations on these bytes, which follow in program order.
  void settle(int target, uint64_t begin, uint64_t end);

 private:
  struct Range {
    uint64_t begin, end;
    Direction direction;
  };
  static constexpr int kRanges = 8;  // more are joined with the last
  struct Target {
    Range ranges[kRanges];
    int count = 0;
    bool open = false;   // stands in open_
    bool local = false;  // not complete here
  };

  void close(Target* target);

  const Segment& segment_;
  const bool local_by_flush_;
  std::vector<Target> targets_;
  std::vector<int> open_;
};

}  // namespace tasuki::coarray
