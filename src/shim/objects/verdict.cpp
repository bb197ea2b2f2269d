#include "shim/objects/verdict.h"

#include "base/log.h"
#include "generated/pmpi.h"

namespace tasuki::shim {
namespace {

bool is_fatal(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (pmpi().Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return false;
  const bool fatal = handler == MPI_ERRORS_ARE_FATAL;
  pmpi().Errhandler_free(&handler);
  return fatal;
}

[[maybe_unused]] bool ends_inside(uint64_t bytes, const layout::Elements& elements) {
  uint64_t pattern = 0;
  for (const layout::ElementRun& run : elements.runs) pattern += run.size * run.count;
  uint64_t left = bytes % pattern;
  for (const layout::ElementRun& run : elements.runs) {
    if (left < run.size * run.count) return left % run.size != 0;
    left -= run.size * run.count;
  }
  return false;
}

}  // namespace

void refuse_part_of_element(Request* r, TypeInfo* t, TypeTable& types) {
#if defined(OPEN_MPI)
  static_cast<void>(r);
  static_cast<void>(t);
  static_cast<void>(types);
#else
  const MPI_Datatype type = handle_of<MPI_Datatype>(t->handle);
  if (r->kind != RequestKind::receive || r->truncated != 0 || r->cancelled != 0 || t->opaque) return;
  if (types.known(type) != t) return;  // freed meanwhile: nobody can tell
  const layout::Elements* elements = elements_of(type, t);
  if (elements == nullptr || !ends_inside(r->status_bytes, *elements)) return;
  r->truncated = 1;
  r->envelope.bytes = r->status_bytes;
#endif
}

void tell_of_truncation(const Request* r, MPI_Comm comm, int world_rank) {
  if (r->kind == RequestKind::pair) return tell_of_truncation(r->part[0], comm, world_rank);
  // A communicator of MPICH that has no handler of its own says that its errors are fatal, and means those of
  // MPI_COMM_WORLD.
  if (r->truncated == 0 || !is_fatal(comm) || !is_fatal(MPI_COMM_WORLD)) return;
  if (r->envelope.bytes == r->status_bytes)
    log(LogLevel::error,
        "rank %d: message truncated: the %lu bytes that rank %d of the communicator sent with tag %d end "
        "inside an "
        "element of the receive's datatype",
        world_rank, r->status_bytes, r->status_source, r->status_tag);
  else
    log(LogLevel::error,
        "rank %d: message truncated: rank %d of the communicator sent %lu bytes with tag %d, and the receive "
        "has "
        "room for %lu",
        world_rank, r->status_source, r->envelope.bytes, r->status_tag, r->status_bytes);
}

}  // namespace tasuki::shim
