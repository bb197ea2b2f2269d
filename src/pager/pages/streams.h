// What to fetch when a fault comes: how much around it, and what is likely to be asked for next. Knows no
// memory; numbers are units of a region.
//
// Page size by observed locality (DLM-MPI, section 4.5.6, wishes for it): each region has a granule, the
// number of units that travel for an isolated fault. Faults that go on where the last fetch ended make it
// grow; isolated ones let it shrink. The paper's BT wants 16 KiB, STREAM as much as the network likes.
//
// Read ahead: a fault that continues a stream doubles the stream's window (as an operating system's file
// read-ahead does); strides by majority of the last differences (Boyer and Moore's vote, as in Maruf and
// Chowdhury, "Effectively Prefetching Remote Memory with Leap", section 4). An isolated fault fetches nothing
// ahead: random access pays nothing.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "pager/pager.h"

namespace tasuki::pager {

struct Locality {               // of one region; the owner keeps it
  uint32_t granule = 16;        // units, a power of two
  uint32_t fixed = 0;           // units; not 0: the page size that was asked for
  uint64_t units = UINT64_MAX;  // of the region
  uint64_t begun = 0;           // streams that began in it
  uint32_t isolated = 0, continued = 0, hold = 8;
  int64_t last = -1;               // unit of the last fault that began a stream
  std::array<int64_t, 8> steps{};  // differences of those faults
  uint32_t step_count = 0;
  uint32_t read = 0, rewritten = 0;  // of isolated pages that were fetched for reading, lately
  uint32_t expected = 0;             // fetched for writing, as most of those were written
  Advice advice = Advice::normal;
};

struct FetchPlan {
  uint64_t first = 0;  // the page with the fault
  uint32_t units = 0;
  bool write = false;        // it will be written, as its predecessors were
  uint64_t ahead_first = 0;  // then these, nearest first
  uint32_t ahead_units = 0;
  uint32_t page = 0;      // units of each page ahead
  bool backward = false;  // nearest is the highest
  int64_t stride = 0;     // not 0: `ahead_units` pages like the first one, this many units apart
};

class Streams {
 public:
  Streams(Prefetch prefetch, uint64_t local_units) : prefetch_(prefetch), local_units_(local_units) {}

  FetchPlan fault(uint32_t region, Locality* locality, uint64_t unit, bool write);
  // A fault on a page that is still on its way: a stream that is faster than the store. Its window moves on,
  // so that the store does not rest until the stream has used it up; nothing is planned but what comes ahead.
  FetchPlan awaited(uint32_t region, const Locality& locality, uint64_t unit);
  // A page of the region that was fetched for reading was written.
  void written(uint32_t region, Locality* locality, uint64_t unit);
  void forget(uint32_t region);

  // The page size of a stream grows with its window: the cost of making a page appear hardly depends on its
  // size (an interrupt of the other cores), and a fault does not wait long for it.
  static constexpr uint32_t kStreamPage = 32, kMaxStreamPage = 256;

 private:
  struct Stream {
    uint32_t region = 0;
    bool used = false, backward = false, writes = false;
    uint64_t first = 0, next = 0;  // fetched: [first, next)
    uint64_t at = 0;               // the last fault
    uint32_t window = 0, streak = 0;
    uint64_t age = 0;
    uint64_t number = 0;  // of those that began in its region
    uint32_t vain = 0;    // faults on what it had fetched already, one after the other
  };
  static constexpr size_t kStreams = 64;
  static constexpr uint32_t kMaxGranule = 64;

  static bool may_go_on(const Stream& s, const Locality& locality);
  Stream* continued_by(uint32_t region, const Locality& locality, uint64_t unit);
  FetchPlan go_on(Stream* s, Locality* locality, uint64_t unit, bool write);
  FetchPlan begin(uint32_t region, Locality* locality, uint64_t unit, bool write);
  void judge(Locality* locality, bool continued);
  static bool will_be_written(Locality* locality);
  int64_t stride_of(const Locality& locality) const;
  uint32_t window_limit() const;
  static uint32_t page_of(const Stream& s, const Locality& locality);

  std::array<Stream, kStreams> streams_;
  Prefetch prefetch_;
  uint64_t local_units_;
  uint64_t clock_ = 0;
};

}  // namespace tasuki::pager
