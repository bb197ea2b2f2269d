// What the functions of groups, communicators and topologies share.
#pragma once

#include "simmpi/objects/comm.h"
#include "simmpi/run/handles.h"

// The object of a handle; without one the function that uses this ends with the error.
#define GROUP(name, handle)             \
  const Group* name = group_of(handle); \
  if (name == nullptr) return MPI_ERR_GROUP
#define COMM(name, handle)      \
  Comm* name = comm_of(handle); \
  if (name == nullptr) return MPI_ERR_COMM

namespace tasuki::simmpi {

// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare(const Members& a, const Members& b);

// What MPI_Comm_split does; null: this rank is in none of the new ones.
Comm* split(Comm* c, int color, int key);

}  // namespace tasuki::simmpi
