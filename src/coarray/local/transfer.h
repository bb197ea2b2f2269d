// transfer: moves the bytes of puts, gets and sections between images. Knows places and shapes, not what the user wrote.
//
// Budget: a put or get of up to 16 bytes to a direct image is one bounds comparison and one copy, without call of MPI, lock or
// allocation.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "base/copy.h"
#include "coarray/index/shape.h"
#include "coarray/local/memory.h"
#include "coarray/local/outstanding.h"
#include "coarray/local/shape_cache.h"
#include "layout/layout.h"

namespace tasuki::coarray {

class DeviceTransfers;

// Where bytes of some image are. direct != nullptr: here; else `offset` in the segment's part of image `target`.
struct Place {
  char* direct = nullptr;
  Segment* segment = nullptr;
  int target = 0;  // index in the segment's team
  uint64_t offset = 0;
  bool device = false;  // in device memory; `direct` is an address of the device then
};

inline Place place_of(Segment* segment, int target, const void* p) {
  Place place;
  place.segment = segment;
  place.target = target;
  place.offset = static_cast<uint64_t>(static_cast<const char*>(p) - segment->begin);
  char* direct = segment->direct[static_cast<size_t>(target)];
  place.direct = direct != nullptr ? direct + place.offset : nullptr;
  return place;
}

// A section at its place: of its first element.
struct Operand {
  Place place;
  Extent extent;
};

inline Operand dense_operand(char* memory, uint64_t bytes) {
  Operand operand;
  operand.place.direct = memory;
  operand.extent.shape.block = bytes;
  operand.extent.high = static_cast<int64_t>(bytes);
  return operand;
}

// May bytes of both, which are here and in one memory, be the same?
bool overlap(const Operand& a, const Operand& b);

// For hot paths: sizes of scalars are copied without a call.
inline void copy_object(void* to, const void* from, uint64_t bytes) {
  switch (bytes) {
    case 1:
      __builtin_memcpy(to, from, 1);
      return;
    case 2:
      __builtin_memcpy(to, from, 2);
      return;
    case 4:
      __builtin_memcpy(to, from, 4);
      return;
    case 8:
      __builtin_memcpy(to, from, 8);
      return;
    case 16:
      __builtin_memcpy(to, from, 16);
      return;
    default:
      move_run(to, from, bytes);
  }
}

// When a transfer is through: at return (what was read may be changed, and what is here has arrived), or at complete().
enum class Through { at_return, at_complete };

class Transfers {
 public:
  explicit Transfers(Memory* memory) : memory_(*memory) {}

  // Bytes in one piece, which may overlap.
  void put(const Place& to, const void* from, uint64_t bytes, Through through) {
    if (to.direct != nullptr) return copy_object(to.direct, from, bytes);
    put_by_window(to, from, bytes, through);
  }
  void get(void* to, const Place& from, uint64_t bytes, Through through) {
    if (from.direct != nullptr) return copy_object(to, from.direct, bytes);
    get_by_window(to, from, bytes, through);
  }

  // Equal numbers of bytes. As if all of `from` were read first.
  void copy(const Operand& to, const Operand& from, Through through);
  // One element, `element` bytes, to all of `to`.
  void fill(const Operand& to, const char* value, uint64_t element);

  // The contiguous pieces of a section that is here, in order; as layout::for_each_run.
  void for_each_run(const Operand& here, void* context,
                    bool (*visit)(void* context, char* address, uint64_t length));

  // Takes over what has an operand in device memory.
  void set_device(DeviceTransfers* device) { device_ = device; }

  void complete_local();
  void complete() {
    // What is stored into a direct image is there for all that is stored later, and for all who see that: more is not needed
    // (Fortran 2008, 8.5.1: who reads what another image writes is ordered after it). Copies that go past the caches end with
    // a fence of their own.
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    if (!memory_.all_direct() || device_ != nullptr) complete_windows();
  }
  void stop();

 private:
  struct LayoutMaker {
    static const layout::Layout* make(const Shape& shape);
    static void free(const layout::Layout* layout) { layout::release(layout); }
  };
  struct TypeMaker {
    static MPI_Datatype make(const Shape& shape);
    static void free(MPI_Datatype type) { PMPI_Type_free(&type); }
  };

  void complete_windows();
  void put_by_window(const Place& to, const void* from, uint64_t bytes, Through through);
  void get_by_window(void* to, const Place& from, uint64_t bytes, Through through);
  Outstanding::Buffer buffer(const Shape& shape);
  void release_source(const Place& to);
  layout::Region region(char* first, const Shape& shape);
  void copy_here(const Operand& to, const Operand& from);
  void put_shape(const Operand& to, const char* from, const Shape& shape, Through through);
  void get_shape(char* to, const Shape& shape, const Operand& from, Through through);
  // A copy of the bytes that lives until the next complete(); nullptr if there is no room for so much.
  char* stage(const Place& to, uint64_t bytes);

  Memory& memory_;
  DeviceTransfers* device_ = nullptr;
  ShapeCache<const layout::Layout*, LayoutMaker> layouts_;
  ShapeCache<MPI_Datatype, TypeMaker> types_;
  std::unique_ptr<char[]> stage_;
  uint64_t staged_ = 0;
};

}  // namespace tasuki::coarray
