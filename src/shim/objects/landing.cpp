#include "shim/objects/landing.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "generated/pmpi.h"
#include "message/shared/shared.h"

namespace tasuki::shim {

#if defined(OPEN_MPI)

namespace {

// Bytes that land behind the others. One byte can not be parted: such a message is too short to be packed.
uint64_t aside(uint64_t bytes) {
  return std::min<uint64_t>(bytes / 2, 64);
}

// Types that are kept, for programs receive the same sizes again and again: to make one takes 0.8 us, a tenth
// of a message of 2 KiB through TCP. A place that is taken by another size stays so.
struct Kept {
  message::SpinLock lock;
  std::atomic<uint64_t> bytes{0};  // set last; 0: free
  MPI_Datatype type = MPI_DATATYPE_NULL;
};
constexpr uint64_t kPlaces = 32;
Kept g_kept[kPlaces];

Kept& place_of(uint64_t bytes) {
  return g_kept[(bytes * 0x9e3779b97f4a7c15u >> 32) % kPlaces];
}

MPI_Datatype make(uint64_t bytes) {
  const auto first = static_cast<int>(aside(bytes));
  const int lengths[2] = {first, static_cast<int>(bytes) - first};
  const MPI_Aint at[2] = {static_cast<MPI_Aint>(bytes), first};
  const MPI_Datatype types[2] = {MPI_PACKED, MPI_PACKED};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  pmpi().Type_create_struct(2, lengths, at, types, &type);
  pmpi().Type_commit(&type);
  return type;
}

}  // namespace

uint64_t Landing::room(uint64_t bytes) {
  return bytes + aside(bytes);
}

void Landing::order(char* block, uint64_t bytes, uint64_t arrived) {
  memcpy(block, block + bytes, std::min(arrived, aside(bytes)));
}

Landing::Landing(uint64_t bytes) : type_(MPI_DATATYPE_NULL), count_(1), own_(false) {
  Kept& kept = place_of(bytes);
  if (kept.bytes.load(std::memory_order_acquire) != bytes) {
    const message::Locked locked(kept.lock);
    const uint64_t there = kept.bytes.load(std::memory_order_relaxed);
    if (there == 0) {
      kept.type = make(bytes);
      kept.bytes.store(bytes, std::memory_order_release);
    } else if (there != bytes) {
      own_ = true;
    }
  }
  type_ = own_ ? make(bytes) : kept.type;
}

Landing::~Landing() {
  if (own_) pmpi().Type_free(&type_);
}

#else

uint64_t Landing::room(uint64_t bytes) {
  return bytes;
}

void Landing::order(char*, uint64_t, uint64_t) {}

Landing::Landing(uint64_t bytes) : type_(MPI_PACKED), count_(static_cast<int>(bytes)), own_(false) {}

Landing::~Landing() = default;

#endif

}  // namespace tasuki::shim
