// Packing and unpacking by hand: the loops that an application would write around a dense buffer, the limit
// for MPI_Pack and MPI_Unpack.
#pragma once

#include "row.h"

// What the sender of a message packs, and what its receiver unpacks.
void pack_by_hand(const struct instance* in, char* dense, const char* arena);
void unpack_by_hand(const struct instance* in, char* arena, const char* dense);
