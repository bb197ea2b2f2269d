#include "shim/objects/parts.h"

#include <cstdlib>
#include <cstring>

#include "generated/pmpi.h"
#include "shim/entry/stand_in.h"
#include "shim/objects/once.h"
#include "shim/objects/requests.h"

namespace tasuki::shim {
namespace {

enum Unpacking : uint8_t { kNot, kUnderWay, kUnpacked };

// One partition in both buffers.
struct Part {
  char* user;
  MPI_Count count;
  MPI_Datatype type;
  char* packed;
  MPI_Count bytes;
};

Part part_of(Request* r, uint32_t part) {
  const OwnerPart& own = mine(r);
  const MPI_Datatype type = handle_of<MPI_Datatype>(own.user_type);
  const uint64_t count = own.user_count / r->partitions;
  const uint64_t bytes = layout::bytes(r->region) / r->partitions;
  MPI_Aint lower_bound = 0, extent = 0;
  pmpi().Type_get_extent(type, &lower_bound, &extent);
  return {own.user_buffer + extent * static_cast<MPI_Aint>(part * count), static_cast<MPI_Count>(count), type,
          own.scratch + part * bytes, static_cast<MPI_Count>(bytes)};
}

}  // namespace

bool watch_parts(Request* r, uint32_t partitions) {
  mine(r).unpacked = static_cast<uint8_t*>(calloc(partitions, 1));
  return mine(r).unpacked != nullptr;
}

void forget_parts(Request* r) {
  if (mine(r).unpacked != nullptr) memset(mine(r).unpacked, kNot, r->partitions);
}

void pack_part(Request* r, uint32_t part) {
  if (mine(r).opaque == Opaque::no) return;
  const Part p = part_of(r, part);
  MPI_Count position = 0;
  stand_in::pack(p.user, p.count, p.type, p.packed, p.bytes, &position, MPI_COMM_SELF);
}

void unpack_part(Request* r, uint32_t part) {
  if (mine(r).unpacked == nullptr) return;
  do_once<uint8_t>(mine(r).unpacked[part], kNot, kUnderWay, kUnpacked, [&] {
    const Part p = part_of(r, part);
    MPI_Count position = 0;
    stand_in::unpack(p.packed, p.bytes, &position, p.user, p.count, p.type, MPI_COMM_SELF);
  });
}

void unpack_parts(Request* r) {
  const uint64_t bytes = layout::bytes(r->region) / r->partitions;
  for (uint32_t i = 0; i < r->partitions && (i + 1) * bytes <= r->status_bytes; i++) unpack_part(r, i);
}

}  // namespace tasuki::shim
