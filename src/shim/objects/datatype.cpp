#include "shim/objects/datatype.h"

#include <algorithm>
#include <cstdlib>

#include "generated/pmpi.h"

namespace tasuki::shim {

void TypeTable::open(bool threads) {
  map_.set_threads(threads);
  pmpi().Type_create_keyval(MPI_TYPE_NULL_COPY_FN, &TypeTable::forget, &keyval_, this);
}

void TypeTable::close() {
  pmpi().Type_free_keyval(&keyval_);
}

void TypeTable::release(TypeInfo* t) {
  if (!t->users.remove()) return;
  layout::release(t->layout);
  delete t->elements.load(std::memory_order_relaxed);
  free(t);
}

// Called by the MPI library when the type is freed, by whatever call: its handle may be given to another one
// next.
int TypeTable::forget(MPI_Datatype type, int, void*, void* extra) {
  TypeInfo* t = static_cast<TypeTable*>(extra)->map_.erase(key_of(type));
  if (t != nullptr) release(t);
  return MPI_SUCCESS;
}

Resolved<TypeInfo*> TypeTable::check_and_learn(MPI_Datatype type, MPI_Comm comm) {
  // Whether a handle is valid and committed only the library can tell: a send to nobody makes it look, with
  // its own error text and through the user's error handler. One element: MPICH does not look at the type of
  // none.
  char nothing = 0;
  const int rc = pmpi().Send(&nothing, 1, type, MPI_PROC_NULL, 0, comm);
  if (rc != MPI_SUCCESS) return Unresolved::failed(rc);
  TypeInfo* t = learn(type);
  if (t == nullptr) {
    pmpi().Comm_call_errhandler(comm, MPI_ERR_NO_MEM);
    return Unresolved::failed(MPI_ERR_NO_MEM);
  }
  t->committed.store(true, std::memory_order_relaxed);
  return t;
}

Resolved<TypeInfo*> TypeTable::find_for_none(MPI_Datatype type, MPI_Comm comm) {
  TypeInfo* t = map_.find(key_of(type));
  if (t != nullptr && t->committed.load(std::memory_order_relaxed)) return t;
  const int rc = pmpi().Send(nullptr, 0, type, MPI_PROC_NULL, 0, comm);
  if (rc != MPI_SUCCESS) return Unresolved::failed(rc);
  return find(MPI_BYTE, comm);
}

// nullptr when memory is exhausted.
TypeInfo* TypeTable::learn(MPI_Datatype type) {
  if (TypeInfo* t = known(type)) return t;
  MPI_Count size = 0;
  pmpi().Type_size_x(type, &size);
  bool predefined = false;
  const layout::Layout* l = decode(type, &predefined);
  bool opaque = false;
  if (l == nullptr || layout::size(l) != static_cast<uint64_t>(size)) {
    if (l != nullptr) layout::release(l);
    l = layout::make_dense(static_cast<uint64_t>(size));
    opaque = true;
  }
  TypeInfo* t = l == nullptr ? nullptr : static_cast<TypeInfo*>(calloc(1, sizeof(TypeInfo)));
  if (t == nullptr) {
    if (l != nullptr) layout::release(l);
    return nullptr;
  }
  char* start = nullptr;
  t->layout = l;
  t->size = static_cast<uint64_t>(size);
  t->handle = key_of(type);
  t->dense = !opaque && layout::is_dense({nullptr, 2, l}, &start);
  t->offset = t->size == 0 ? 0 : layout::true_lower_bound(l);
  t->predefined = predefined;
  t->opaque = opaque;
  t->users.set(1);
  // Several threads may meet the type for the first time at once: one of them makes it known, complete.
  TypeInfo* first = map_.find_or_insert(key_of(type), t);
  if (first != t) {
    release(t);
    return first;
  }
  if (!predefined) pmpi().Type_set_attr(type, keyval_, this);
  return t;
}

}  // namespace tasuki::shim
