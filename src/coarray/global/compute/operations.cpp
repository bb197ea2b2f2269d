#include "coarray/global/compute/operations.h"

#include <type_traits>

#include "coarray/global/records/types.h"

namespace tasuki::coarray {
namespace {

// MPI has && and || for integers only, C for all numbers.
template <typename T, bool both>
void combine(void* in, void* result, int* count, MPI_Datatype*) {
  const T *a = static_cast<const T*>(in), no = T();
  T* b = static_cast<T*>(result);
  for (int i = 0; i < *count; i++)
    b[i] = static_cast<T>(both ? a[i] != no && b[i] != no : a[i] != no || b[i] != no);
}

template <typename T>
inline constexpr bool is_complex = false;
template <typename T>
inline constexpr bool is_complex<std::complex<T>> = true;

// A _Bool is 0 or 1: what C computes with two of them, made a _Bool again.
MPI_Op for_truth(int operation) {
  switch (operation) {
    case TASUKI_XMP_PRODUCT:
    case TASUKI_XMP_BIT_AND:
    case TASUKI_XMP_AND:
    case TASUKI_XMP_MIN:
      return MPI_LAND;
    case TASUKI_XMP_BIT_XOR:
      return MPI_LXOR;
    default:
      return MPI_LOR;
  }
}

}  // namespace

template <typename T, bool both>
MPI_Op Operations::logical() {
  const auto [entry, fresh] = made_.try_emplace(combine<T, both>, MPI_OP_NULL);
  if (fresh) PMPI_Op_create(entry->first, 1, &entry->second);
  return entry->second;
}

template <typename T>
MPI_Op Operations::for_numbers(int operation) {
  switch (operation) {
    case TASUKI_XMP_SUM:
    case TASUKI_XMP_DIFFERENCE:
      return MPI_SUM;
    case TASUKI_XMP_PRODUCT:
      return MPI_PROD;
    case TASUKI_XMP_BIT_AND:
      return std::is_integral_v<T> ? MPI_BAND : MPI_OP_NULL;
    case TASUKI_XMP_BIT_OR:
      return std::is_integral_v<T> ? MPI_BOR : MPI_OP_NULL;
    case TASUKI_XMP_BIT_XOR:
      return std::is_integral_v<T> ? MPI_BXOR : MPI_OP_NULL;
    case TASUKI_XMP_AND:
      return logical<T, true>();
    case TASUKI_XMP_OR:
      return logical<T, false>();
    case TASUKI_XMP_MAX:
      return is_complex<T> ? MPI_OP_NULL : MPI_MAX;
    case TASUKI_XMP_MIN:
      return is_complex<T> ? MPI_OP_NULL : MPI_MIN;
    default:
      return MPI_OP_NULL;
  }
}

MPI_Op Operations::of(int operation, int type, Where where) {
  MPI_Op op = MPI_OP_NULL;
  with_type(type, [&]<typename T>(T) {
    if constexpr (std::is_same_v<T, bool>)
      op = for_truth(operation);
    else
      op = for_numbers<T>(operation);
  });
  if (op == MPI_OP_NULL) fail(where, "there is no such reduction on variables of this type");
  return op;
}

MPI_Datatype datatype_of(int type, Where where) {
  switch (type) {
    case TASUKI_XMP_BOOL:
      return MPI_C_BOOL;
    case TASUKI_XMP_CHAR:
      return MPI_SIGNED_CHAR;
    case TASUKI_XMP_UNSIGNED_CHAR:
      return MPI_UNSIGNED_CHAR;
    case TASUKI_XMP_SHORT:
      return MPI_SHORT;
    case TASUKI_XMP_UNSIGNED_SHORT:
      return MPI_UNSIGNED_SHORT;
    case TASUKI_XMP_INT:
      return MPI_INT;
    case TASUKI_XMP_UNSIGNED:
      return MPI_UNSIGNED;
    case TASUKI_XMP_LONG:
      return MPI_LONG;
    case TASUKI_XMP_UNSIGNED_LONG:
      return MPI_UNSIGNED_LONG;
    case TASUKI_XMP_LONG_LONG:
      return MPI_LONG_LONG;
    case TASUKI_XMP_UNSIGNED_LONG_LONG:
      return MPI_UNSIGNED_LONG_LONG;
    case TASUKI_XMP_FLOAT:
      return MPI_FLOAT;
    case TASUKI_XMP_DOUBLE:
      return MPI_DOUBLE;
    case TASUKI_XMP_LONG_DOUBLE:
      return MPI_LONG_DOUBLE;
    case TASUKI_XMP_COMPLEX_FLOAT:
      return MPI_C_FLOAT_COMPLEX;
    case TASUKI_XMP_COMPLEX_DOUBLE:
      return MPI_C_DOUBLE_COMPLEX;
    case TASUKI_XMP_COMPLEX_LONG_DOUBLE:
      return MPI_C_LONG_DOUBLE_COMPLEX;
    default:
      fail(where, "reductions are of numbers; this variable is none");
  }
}

int without_location(int operation) {
  switch (operation) {
    case TASUKI_XMP_FIRST_MAX:
    case TASUKI_XMP_LAST_MAX:
      return TASUKI_XMP_MAX;
    case TASUKI_XMP_FIRST_MIN:
    case TASUKI_XMP_LAST_MIN:
      return TASUKI_XMP_MIN;
    default:
      return operation;
  }
}

bool has_location(int operation) {
  return operation != without_location(operation);
}

bool wants_first(int operation) {
  return operation == TASUKI_XMP_FIRST_MAX || operation == TASUKI_XMP_FIRST_MIN;
}

bool equal_values(int type, const void* a, const void* b) {
  bool equal = false;
  with_type(type, [&]<typename T>(T) { equal = *static_cast<const T*>(a) == *static_cast<const T*>(b); });
  return equal;
}

void Operations::free() {
  for (auto& [function, op] : made_) PMPI_Op_free(&op);
  made_.clear();
}

}  // namespace tasuki::coarray
