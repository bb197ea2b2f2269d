// host_transfers: moves the bytes of puts, gets and sections between images, in the memory of hosts: by loads
// and stores, or through windows. Knows places and shapes, not what the user wrote.
//
// Budget: a put or get of up to 16 bytes to a direct image is one bounds comparison and one copy, without
// call of MPI, lock or allocation.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>

#include "base/copy.h"
#include "coarray/index/shape.h"
#include "coarray/local/memory.h"
#include "coarray/local/outstanding.h"
#include "coarray/local/place.h"
#include "coarray/local/shape_cache.h"
#include "layout/layout.h"

namespace tasuki::coarray {

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

class HostTransfers {
 public:
  explicit HostTransfers(Memory* memory) : memory_(*memory) {}

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

  // What has gone through windows is complete here, or at the targets too.
  void complete_local();
  void complete_windows();
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
  ShapeCache<const layout::Layout*, LayoutMaker> layouts_;
  ShapeCache<MPI_Datatype, TypeMaker> types_;
  std::unique_ptr<char[]> stage_;
  uint64_t staged_ = 0;
};

}  // namespace tasuki::coarray
