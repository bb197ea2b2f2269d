// The reduction operations and the types that they are for, in MPI and as functions of this program.
#pragma once

#include "layout.h"

namespace collectives {

enum Op {
  kSum,
  kProd,
  kMin,
  kMax,
  kLand,
  kLor,
  kLxor,
  kBand,
  kBor,
  kBxor,
  kMinloc,
  kMaxloc,
  kAdd,     // the user's operations: a sum modulo a prime
  kMatrix,  // a product of matrices, which does not commute
  kAffine,  // one affine function after another, which does not either
  kOps
};
extern const char* const op_names[kOps];

struct Element {
  const char* name;
  MPI_Datatype type;  // MPI_DATATYPE_NULL: derived, made for each call
  size_t bytes;       // from one element to the next
  struct Field {
    size_t at, bytes;
  };
  std::vector<Field> fields;
  bool padding;  // what lies between the fields is not the user's
  unsigned ops;  // a bit for each
  // An element of `rank` such that the exact result is the same in any order and nothing overflows.
  void (*make)(Op op, uint64_t word, int rank, int ranks, unsigned char* to);
  // right = left op right
  void (*combine)(Op op, const unsigned char* left, unsigned char* right, size_t n);

  MPI_Datatype make_type() const;  // to be freed if it is not `type`
  // Puts n elements at their places. Padding is as in `now`, if that is given.
  void put(const Bytes& from, size_t n, unsigned char* to, const unsigned char* now) const;
};
const std::vector<Element>& elements();

struct Handle {
  MPI_Op op;
  bool own;
};
Handle make_op(Op op);

}  // namespace collectives
