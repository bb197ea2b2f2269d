// From an MPI datatype to a layout: decoded once, from what the library says of its construction (envelope
// and contents), and remembered until the library frees the type.
#pragma once

#include <mpi.h>

#include <atomic>

#include "layout/byte_order.h"
#include "layout/layout.h"
#include "shim/objects/handle_map.h"
#include "shim/objects/users.h"
#include "shim/resolved.h"

namespace tasuki::shim {

struct TypeInfo {
  const layout::Layout* layout;  // of one element; packed bytes only, if opaque
  uint64_t size;                 // packed bytes of one element
  uintptr_t handle;              // the MPI_Datatype, which the user may have freed since
  int64_t offset;                // dense: where the bytes of an element begin
  bool dense;                    // consecutive elements are contiguous bytes
  bool predefined;
  std::atomic<uint8_t> number;  // of updates.h; 0: not asked for yet
  bool opaque;                  // not decodable: the library packs and unpacks it
  std::atomic<bool> committed;  // the library accepted it in a message; MPI_Pack asks for less
  Users users;                  // operations in progress, plus one while the type exists
  // The MPI_Datatype that predefined_type_of() says; 0: not asked for yet.
  std::atomic<uintptr_t> element;
  // What "external32" needs to know; nullptr: not asked for yet; no runs: the library packs it.
  std::atomic<const layout::Elements*> elements;
};

// The region of a user's buffer. Dense types become plain bytes, so that the copy engine takes its shortest
// path.
inline layout::Region region_of(const void* buf, MPI_Count count, const TypeInfo* t) {
  char* base = static_cast<char*>(const_cast<void*>(buf));
  const uint64_t n = static_cast<uint64_t>(count);
  if (t->dense) return {base + t->offset, n * t->size, layout::byte_layout()};
  return {base, n, t->layout};
}

class TypeTable {
 public:
  void open(bool threads);
  void close();

  // What is known of a committed type, or failed, with the error raised on `comm`: the type is not valid.
  Resolved<TypeInfo*> find(MPI_Datatype type, MPI_Comm comm) {
    TypeInfo* t = map_.find(key_of(type));
    if (__builtin_expect(t != nullptr && t->committed.load(std::memory_order_relaxed), 1)) return t;
    return check_and_learn(type, comm);
  }
  // The same without any check: nullptr where the type has not been met in a message since its commit.
  TypeInfo* usable(MPI_Datatype type) {
    TypeInfo* t = map_.find(key_of(type));
    return t != nullptr && t->committed.load(std::memory_order_relaxed) ? t : nullptr;
  }
  // The same for a message of no elements, for which MPICH takes any type: then what is known of bytes.
  Resolved<TypeInfo*> find_for_none(MPI_Datatype type, MPI_Comm comm);

  // What is known of a type, whether it was ever committed or not; nullptr if it was not met before.
  TypeInfo* known(MPI_Datatype type) { return map_.find(key_of(type)); }
  // Remembers a type that the library has just used successfully.
  void remember(MPI_Datatype type) { learn(type); }

  static void retain(TypeInfo* t) { t->users.add(); }
  static void release(TypeInfo* t);

 private:
  Resolved<TypeInfo*> check_and_learn(MPI_Datatype type, MPI_Comm comm);
  TypeInfo* learn(MPI_Datatype type);
  static int forget(MPI_Datatype type, int keyval, void* attribute, void* extra);

  HandleMap<TypeInfo> map_;
  int keyval_ = MPI_KEYVAL_INVALID;
};

// The layout of a datatype, or nullptr if its construction is not understood or memory is exhausted.
// *predefined: the type is not the user's.
const layout::Layout* decode(MPI_Datatype type, bool* predefined);

// The predefined type of which all elements of a datatype are; MPI_DATATYPE_NULL: there are several, or none,
// or its construction is not understood.
MPI_Datatype predefined_type_of(MPI_Datatype type);

// The elements of a datatype in packed order. `element_size` tells of a predefined type how many bytes each
// of its equal elements has, or 0; then, and if the construction is not understood, this returns false.
bool decode_elements(MPI_Datatype type, uint64_t (*element_size)(MPI_Datatype), layout::ElementsBuilder* out);

// The type's elements, built at their first use; nullptr if they are not all of predefined types that
// "external32" writes as many bytes of as they have.
const layout::Elements* elements_of(MPI_Datatype type, TypeInfo* t);

// True if the library packs as layouts do, without header or padding: what one packs the other can unpack.
bool formats_agree();

}  // namespace tasuki::shim
