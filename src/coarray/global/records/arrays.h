// arrays: distributed arrays (XcalableMP 1.4, sections 4.4.4 `align` and 4.4.5 `shadow`): where each element
// is.
//
// Each node has room for as many elements as the one with the most of them, so strides are the same on all,
// and an element's place on any node follows from the node's coordinates. The memory is coarray memory. As
// with templates, equal descriptions share one geometry, which lives as long as the program.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "coarray/access/coarrays.h"
#include "coarray/device/device.h"
#include "coarray/global/records/templates.h"
#include "coarray/local/memory.h"
#include "coarray/local/phase.h"
#include "coarray/sync/collectives.h"
#include "coarray/sync/patience.h"
#include "coarray/sync/teams.h"

namespace tasuki::coarray {

// One dimension of an array. Subscripts are the array's, from 0; `local` indices are in the memory of one
// node.
struct Axis {
  int64_t extent = 0;
  int node_dimension = -1;                     // -1: all of it is on every node that has the array
  const Distribution* distribution = nullptr;  // nullptr: not aligned
  int64_t offset = 0;                          // of the template's subscripts
  int64_t below = 0, above = 0;                // shadow
  bool full = false;                           // full shadow: all of it has memory on every node
  int64_t allocated = 0, stride = 0;           // elements
  int64_t base = 0;  // cyclic: what local index 0 would be if the array began with the template

  bool cyclic() const { return distribution != nullptr && !distribution->contiguous() && !full; }
  int nodes() const { return node_dimension < 0 ? 1 : distribution->nodes(); }
  // What the coordinate owns of a run of subscripts, in its order.
  Pieces owned(int coordinate, const Run& run) const;
  // Where the memory begins, unless cyclic.
  int64_t first(int coordinate) const;
  int64_t local(int coordinate, int64_t x) const;
  // Cyclic distributions repeat; 0: it is none.
  int64_t period() const {
    const bool repeats = distribution != nullptr && !distribution->contiguous();
    return repeats ? distribution->width() * distribution->nodes() : 0;
  }
};

struct Geometry {
  const Template* space = nullptr;
  std::vector<Axis> axis;
  uint64_t element = 0, bytes = 0;
  std::vector<int>
      only;  // by node dimension: the coordinate that alone has the array; -1: all, or by an axis
  std::vector<int> axis_of;  // by node dimension; -1: the array is replicated (or at one) there
  bool mine = false;         // this node has a part

  int coordinate(size_t d, const std::vector<int>& node) const {
    const int n = axis[d].node_dimension;
    return n < 0 ? 0 : node[static_cast<size_t>(n)];
  }
  bool has(const std::vector<int>& node) const;
  // This node: its coordinate, and whether it has memory for the subscript, shadow included, which may go
  // beyond the array.
  int own(size_t d) const { return coordinate(d, space->own); }
  bool here(size_t d, int64_t x) const;
};

// The memory of an array on all nodes.
struct Held {
  const Geometry* geometry;
  Segment* segment;
  uint64_t offset;       // in each node's part
  bool device = false;   // its copy on the device: of a mirror, or ..
  char* copy = nullptr;  // .. this node's, where OpenACC has put it
};

class Arrays {
 public:
  Arrays(const Phase* phase, Memory* memory, const Teams* teams, Patience* patience, Collectives* collectives,
         Device* device, Coarrays* coarrays, Templates* templates)
      : phase_(*phase),
        memory_(*memory),
        teams_(*teams),
        patience_(*patience),
        collectives_(*collectives),
        device_(*device),
        coarrays_(*coarrays),
        templates_(*templates) {}

  void add(tasuki_xmp_array* record);
  // Collective over all: those that were added. What is to have a mirror is in one segment, which is
  // returned; nullptr: nothing.
  Segment* start();

  void define(tasuki_xmp_array* record, Where where);
  void release(tasuki_xmp_array* record);
  void parameter(tasuki_xmp_array* record, void* memory, Where where);
  void* allocate(tasuki_xmp_array* record, const std::vector<int64_t>& extents, Where where);  // xmp_malloc
  bool free(void* memory);  // xmp_free: was it one of these?

  // With TASUKI_XMP_DEVICE in `flags` the memory on the device.
  Held held(const tasuki_xmp_array& record, unsigned flags, Where where);
  // What a[i] of an array of several dimensions is as a pointer: with the first `count` subscripts.
  void* row(const tasuki_xmp_array& record, int count, const long long* subscripts);

 private:
  const Geometry& geometry_of(const tasuki_xmp_array& record, Where where);
  Segment* start(bool mirrored);
  void place(tasuki_xmp_array* record, const Geometry& g, Segment* segment, uint64_t offset);

  const Phase& phase_;
  Memory& memory_;
  const Teams& teams_;
  Patience& patience_;
  Collectives& collectives_;
  Device& device_;
  Coarrays& coarrays_;
  Templates& templates_;
  std::vector<tasuki_xmp_array*> records_;
  std::map<std::vector<int64_t>, std::unique_ptr<Geometry>> known_;
  std::map<void*, tasuki_xmp_array*> allocated_;
  bool started_ = false;
};

}  // namespace tasuki::coarray
