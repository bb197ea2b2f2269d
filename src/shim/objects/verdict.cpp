#include "shim/objects/verdict.h"

#include <algorithm>

#include "base/log.h"
#include "generated/pmpi.h"
#include "shim/errors.h"
#include "shim/habits.h"

namespace tasuki::shim {
namespace {

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

[[maybe_unused]] bool is_mixed(const layout::Elements& elements) {
  return std::any_of(elements.runs.begin(), elements.runs.end(),
                     [&](const layout::ElementRun& run) { return run.size != elements.runs.front().size; });
}

}  // namespace

bool refuses_part_of_element(uint64_t bytes, TypeInfo* t, TypeTable& types) {
#if defined(OPEN_MPI)
  static_cast<void>(bytes);
  static_cast<void>(t);
  static_cast<void>(types);
  return false;
#else
  const MPI_Datatype type = handle_of<MPI_Datatype>(t->handle);
  if (t->opaque || !may_end_inside(bytes, t)) return false;
  if (types.known(type) != t) return false;  // freed meanwhile: nobody can tell
  const layout::Elements* elements = elements_of(type, t);
  if (elements == nullptr || (g_habits.accepts_part_of_mixed && is_mixed(*elements))) return false;
  return ends_inside(bytes, *elements);
#endif
}

void refuse_part_of_element(Request* r, TypeInfo* t, TypeTable& types) {
  if (r->kind != RequestKind::receive || r->truncated != 0 || r->cancelled != 0) return;
  if (!refuses_part_of_element(r->status_bytes, t, types)) return;
  r->truncated = 1;
  r->envelope.bytes = r->status_bytes;
}

void tell_of_truncation(const Request* r, MPI_Comm comm, int world_rank) {
  if (r->kind == RequestKind::pair) return tell_of_truncation(r->part[0], comm, world_rank);
  if (r->kind == RequestKind::group) return;
  // A communicator of MPICH that has no handler of its own says that its errors are fatal, and means those of
  // the default.
  if (r->truncated == 0 || !is_fatal(comm) || !is_fatal(default_comm())) return;
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
