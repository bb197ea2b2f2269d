#include "shim/objects/targets.h"

namespace tasuki::shim {
namespace {

// An address of nullptr is MPI_BOTTOM with absolute addresses, or a mistake that the library reports.
bool address_is_plausible(const void* buf, MPI_Count count, const TypeInfo* t) {
  return buf != nullptr || count == 0 || !t->predefined;
}

}  // namespace

// Inlined into its callers: every message goes through one of them.
[[gnu::always_inline]] inline Resolved<Target> Targets::resolve(CommInfo* c, const void* buf, MPI_Count count,
                                                                MPI_Datatype type, int slot, MPI_Comm comm) {
  const Resolved<TypeInfo*> found = count != 0 ? types_.find(type, comm) : types_.find_for_none(type, comm);
  return found.and_then([&](TypeInfo* t) -> Resolved<Target> {
    if (!address_is_plausible(buf, count, t)) return Unresolved::pass();
    return Target{c, t, type, slot};
  });
}

Resolved<Target> Targets::to(const void* buf, MPI_Count count, MPI_Datatype type, int dest, int tag,
                             MPI_Comm comm) {
  CommInfo* c = comms_.find(comm);
  if (c == nullptr || dest < 0 || dest >= c->peer_count || tag < 0 || tag > tag_upper_bound_ || count < 0)
    return Unresolved::pass();
  if (c->slots[dest] == kElsewhere) return Unresolved::pass();
  return resolve(c, buf, count, type, c->slots[dest], comm);
}

Resolved<Target> Targets::memory(const void* buf, MPI_Count count, MPI_Datatype type, MPI_Comm comm) {
  if (count < 0) return Unresolved::pass();
  return resolve(nullptr, buf, count, type, kAnySource, comm);
}

Resolved<Target> Targets::buffer(const void* buf, MPI_Count count, MPI_Datatype type, int tag,
                                 MPI_Comm comm) {
  return from(buf, count, type, MPI_ANY_SOURCE, tag, comm);
}

Resolved<Target> Targets::from(const void* buf, MPI_Count count, MPI_Datatype type, int source, int tag,
                               MPI_Comm comm) {
  CommInfo* c = comms_.find(comm);
  if (c == nullptr || count < 0) return Unresolved::pass();
  if (tag != MPI_ANY_TAG && (tag < 0 || tag > tag_upper_bound_)) return Unresolved::pass();
  const bool any = source == MPI_ANY_SOURCE;
  if (!any && (source < 0 || source >= c->peer_count)) return Unresolved::pass();
  if (!any && c->slots[source] == kElsewhere) return Unresolved::pass();
  return resolve(c, buf, count, type, any ? kAnySource : c->slots[source], comm);
}

}  // namespace tasuki::shim
