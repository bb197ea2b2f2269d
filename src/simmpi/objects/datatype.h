// Datatypes: a layout (src/layout) and how the user made it. And the operators of reductions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "layout/layout.h"
#include "simmpi/mpi.h"
#include "simmpi/objects/arguments.h"

namespace tasuki::simmpi {

// What an operator does with a predefined type.
enum class Basic : uint8_t {
  none,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f32,
  f64,
  f80,
  c32,
  c64,
  c80,
  boolean,
  logical,
  byte,
  pair_f32_i32,
  pair_f64_i32,
  pair_i64_i32,
  pair_i32_i32,
  pair_i16_i32,
  pair_f80_i32,
  pair_f32,
  pair_f64,
};

struct Datatype {
  static constexpr uint32_t kMagic = 0x54595045;
  uint32_t magic = kMagic;
  uint32_t references = 1;
  MPI_Datatype predefined = MPI_DATATYPE_NULL;  // its handle, if it is
  const layout::Layout* layout = nullptr;
  Basic basic = Basic::none;
  uint64_t element = 0;  // bytes of the predefined type that it consists of; 0: of different ones
  int combiner = MPI_COMBINER_NAMED;
  bool large = false;  // made by a function with large counts
  std::vector<int64_t> integers, addresses, counts;
  std::vector<Datatype*> types;  // retained
  std::string name;
  std::map<int, void*> attributes;

  uint64_t size() const { return layout::size(layout); }
  int64_t extent() const { return layout::extent(layout); }
};

Datatype* type_of(MPI_Datatype type);  // null: not a datatype
MPI_Datatype handle(Datatype* type);
Datatype* byte_type();
void retain(Datatype* type);
void release(Datatype* type);
// Predefined basic elements in the first `bytes` packed bytes of elements of the type; -1: not a whole
// number.
int64_t count_elements(const Datatype& type, uint64_t bytes);

struct Op {
  static constexpr uint32_t kMagic = 0x4f504f50;
  uint32_t magic = kMagic;
  OpFunction function{};
  bool commutes = true;
};
Op* op_of(MPI_Op op);  // of the user; null otherwise
bool commutes(MPI_Op op);
// inout[i] = in[i] op inout[i]. An error class, without doing anything, if the operator is not defined for
// the type.
int reduce(MPI_Op op, MPI_Datatype type, const void* in, void* inout, uint64_t count);
int check_op(MPI_Op op, MPI_Datatype type);

}  // namespace tasuki::simmpi
