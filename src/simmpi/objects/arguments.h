// Arguments of MPI functions that exist in a classic and in a large form, as one type for both
// (gen/simmpi.py).
#pragma once

#include <cstddef>
#include <cstdint>

#include "simmpi/mpi.h"

namespace tasuki::simmpi {

// An array of counts or displacements.
class Counts {
 public:
  Counts(const int* small) : small_(small) {}        // NOLINT: implicit on purpose
  Counts(const MPI_Count* large) : large_(large) {}  // NOLINT: implicit on purpose
  int64_t operator[](size_t i) const { return large_ != nullptr ? large_[i] : small_[i]; }
  bool large() const { return large_ != nullptr; }

 private:
  const int* small_ = nullptr;
  const MPI_Count* large_ = nullptr;
};

// A count that is given back, or changed.
class CountOut {
 public:
  CountOut(int* small) : small_(small) {}        // NOLINT: implicit on purpose
  CountOut(MPI_Count* large) : large_(large) {}  // NOLINT: implicit on purpose
  // Too large for the classic form: MPI_UNDEFINED.
  void operator=(int64_t value) const {
    if (large_ != nullptr)
      *large_ = value;
    else
      *small_ = value == static_cast<int>(value) ? static_cast<int>(value) : MPI_UNDEFINED;
  }
  int64_t get() const { return large_ != nullptr ? *large_ : *small_; }
  bool large() const { return large_ != nullptr; }

 private:
  int* small_ = nullptr;
  MPI_Count* large_ = nullptr;
};

struct OpFunction {
  MPI_User_function* small = nullptr;
  MPI_User_function_c* large = nullptr;
  OpFunction() = default;
  OpFunction(MPI_User_function* f) : small(f) {}    // NOLINT: implicit on purpose
  OpFunction(MPI_User_function_c* f) : large(f) {}  // NOLINT: implicit on purpose
};

static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count));

}  // namespace tasuki::simmpi
