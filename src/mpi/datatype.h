// From an MPI datatype to a layout: decoded once, from what the library says of its construction (envelope
// and contents), and remembered until the library frees the type.
#pragma once

#include <mpi.h>

#include <atomic>

#include "layout/layout.h"
#include "mpi/handle_map.h"

namespace tasuki::mpi {

struct TypeInfo {
  const layout::Layout* layout;  // of one element; packed bytes only, if opaque
  uint64_t size;                 // packed bytes of one element
  int64_t offset;                // dense: where the bytes of an element begin
  bool dense;                    // consecutive elements are contiguous bytes
  bool predefined;
  bool opaque;                  // not decodable: the library packs and unpacks it
  std::atomic<uint32_t> users;  // operations in progress, plus one while the type exists
};

class TypeTable {
 public:
  void open(bool threads);
  void close();

  // What is known of a committed type. nullptr: the type is not valid; the error has been raised on `comm`
  // and *error is its code.
  TypeInfo* find(MPI_Datatype type, MPI_Comm comm, int* error) {
    TypeInfo* t = map_.find(key_of(type));
    return __builtin_expect(t != nullptr, 1) ? t : learn(type, comm, error);
  }

  static void retain(TypeInfo* t) { t->users.fetch_add(1, std::memory_order_relaxed); }
  static void release(TypeInfo* t);

 private:
  TypeInfo* learn(MPI_Datatype type, MPI_Comm comm, int* error);
  static TypeInfo* no_memory(MPI_Comm comm, int* error);
  static int forget(MPI_Datatype type, int keyval, void* attribute, void* extra);

  HandleMap<TypeInfo> map_;
  int keyval_ = MPI_KEYVAL_INVALID;
};

// The layout of a datatype, or nullptr if its construction is not understood or memory is exhausted.
// *predefined: the type is not the user's.
const layout::Layout* decode(MPI_Datatype type, bool* predefined);

}  // namespace tasuki::mpi
