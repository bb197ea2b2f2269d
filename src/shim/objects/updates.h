// What MPI_Accumulate and its like do to the memory of a window: target = op(origin, target), element by
// element, each atomic with all other updates of the same part (MPI-4.0, 12.7.1): the part's `updates` lock
// is held for a piece of the target at a time.
//
// Budget: one number 20 ns, most of it the lock. Sums of numbers are vectorised; other types and operations
// are MPI_Reduce_local's.
#pragma once

#include <mpi.h>

#include "base/number.h"
#include "message/windows/window.h"
#include "shim/objects/datatype.h"

namespace tasuki::shim {

// The predefined type of which a datatype is made; what the library says of it.
struct Element {
  MPI_Datatype handle;
  TypeInfo* type;
  Number number;
};

// Operations that MPI_Accumulate takes: the predefined ones.
bool is_update(MPI_Op op);

// The element of `t`, which `handle` stands for; nullptr in `type` if it has none, or several.
Element element_of(MPI_Datatype handle, TypeInfo* t, TypeTable& types, MPI_Comm quiet);

// Whether the caller has the part's lock for updates.
enum class Updates : bool { free, held };

// A part of a window as the target of an update. Regions hold the same number of bytes, all of `element`.
// `origin` is not read with MPI_NO_OP; `fetched`, if not nullptr, gets what was there before.
// Idle tasks take part in large sums and replacements.
void update(Engine& engine, WindowPart& part, Updates lock, MPI_Op op, const Element& element,
            const layout::Region& target, const layout::Region& origin, const layout::Region* fetched,
            uint64_t bytes);

// The same for one element that is a number (Element::number), at an address of the part. `origin` is not
// read with MPI_NO_OP; `fetched` may be nullptr.
void update_number(WindowPart& part, MPI_Op op, const Element& element, char* target, const char* origin,
                   char* fetched);

// MPI_Compare_and_swap of one element.
void compare_and_swap(WindowPart& part, char* target, const void* origin, const void* compare, void* result,
                      uint64_t bytes);

}  // namespace tasuki::shim
