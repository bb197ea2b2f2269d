#include "shim/objects/landing.h"

#include <algorithm>
#include <cstring>

#include "generated/pmpi.h"

namespace tasuki::shim {

#if defined(OPEN_MPI)

namespace {

// Bytes that land behind the others. One byte can not be parted: such a message is too short to be packed.
uint64_t aside(uint64_t bytes) {
  return std::min<uint64_t>(bytes / 2, 64);
}

}  // namespace

uint64_t Landing::room(uint64_t bytes) {
  return bytes + aside(bytes);
}

void Landing::order(char* block, uint64_t bytes, uint64_t arrived) {
  memcpy(block, block + bytes, std::min(arrived, aside(bytes)));
}

Landing::Landing(uint64_t bytes) : type_(MPI_DATATYPE_NULL), count_(1) {
  const auto first = static_cast<int>(aside(bytes));
  const int lengths[2] = {first, static_cast<int>(bytes) - first};
  const MPI_Aint at[2] = {static_cast<MPI_Aint>(bytes), first};
  const MPI_Datatype types[2] = {MPI_PACKED, MPI_PACKED};
  pmpi().Type_create_struct(2, lengths, at, types, &type_);
  pmpi().Type_commit(&type_);
}

Landing::~Landing() {
  pmpi().Type_free(&type_);
}

#else

uint64_t Landing::room(uint64_t bytes) {
  return bytes;
}

void Landing::order(char*, uint64_t, uint64_t) {}

Landing::Landing(uint64_t bytes) : type_(MPI_PACKED), count_(static_cast<int>(bytes)) {}

Landing::~Landing() = default;

#endif

}  // namespace tasuki::shim
