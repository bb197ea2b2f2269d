#include "coarray/sync/atomics.h"

#include <cstddef>

#include "coarray/local/outstanding.h"
#include "mpi/functions.h"
#include "tasuki/compiler/local_view.h"

namespace tasuki::coarray {
namespace {

// A waiting image looks whether the one that holds the lock still runs.
constexpr unsigned kTurnsOfTrust = 1000;

template <typename T>
T by_processor(T* at, int operation, T operand, T compare) {
  switch (operation) {
    case TASUKI_XMP_ATOMIC_DEFINE:
      return __atomic_exchange_n(at, operand, __ATOMIC_SEQ_CST);
    case TASUKI_XMP_ATOMIC_ADD:
      return __atomic_fetch_add(at, operand, __ATOMIC_SEQ_CST);
    case TASUKI_XMP_ATOMIC_AND:
      return __atomic_fetch_and(at, operand, __ATOMIC_SEQ_CST);
    case TASUKI_XMP_ATOMIC_OR:
      return __atomic_fetch_or(at, operand, __ATOMIC_SEQ_CST);
    case TASUKI_XMP_ATOMIC_XOR:
      return __atomic_fetch_xor(at, operand, __ATOMIC_SEQ_CST);
    case TASUKI_XMP_ATOMIC_CAS:
      __atomic_compare_exchange_n(at, &compare, operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
      return compare;
    default:
      return __atomic_load_n(at, __ATOMIC_SEQ_CST);
  }
}

MPI_Op mpi_operation(int operation) {
  switch (operation) {
    case TASUKI_XMP_ATOMIC_DEFINE:
      return MPI_REPLACE;
    case TASUKI_XMP_ATOMIC_ADD:
      return MPI_SUM;
    case TASUKI_XMP_ATOMIC_AND:
      return MPI_BAND;
    case TASUKI_XMP_ATOMIC_OR:
      return MPI_BOR;
    case TASUKI_XMP_ATOMIC_XOR:
      return MPI_BXOR;
    default:
      return MPI_NO_OP;
  }
}

template <typename T>
T by_window(const Place& place, int operation, T operand, T compare) {
  const Segment& segment = *place.segment;
  const MPI_Datatype type = sizeof(T) == 8 ? MPI_INT64_T : MPI_INT32_T;
  const MPI_Aint at =
      segment.displacement[static_cast<size_t>(place.target)] + static_cast<MPI_Aint>(place.offset);
  T old = 0;
  segment.outstanding->settle(place.target, place.offset, place.offset + sizeof(T));
  if (operation == TASUKI_XMP_ATOMIC_CAS)
    PMPI_Compare_and_swap(&operand, &compare, &old, type, place.target, at, segment.window);
  else
    PMPI_Fetch_and_op(&operand, &old, type, place.target, at, mpi_operation(operation), segment.window);
  PMPI_Win_flush(place.target, segment.window);
  return old;
}

template <typename T>
T apply(const Place& place, int operation, int64_t operand, int64_t compare) {
  if (place.segment->outstanding == nullptr)
    return by_processor(reinterpret_cast<T*>(place.direct), operation, static_cast<T>(operand),
                        static_cast<T>(compare));
  return by_window(place, operation, static_cast<T>(operand), static_cast<T>(compare));
}

Place member(Place place, size_t offset) {
  place.offset += offset;
  if (place.direct != nullptr) place.direct += offset;
  return place;
}

int64_t read(const Place& place) {
  return atomic(place, 4, TASUKI_XMP_ATOMIC_REF, 0, 0);
}

}  // namespace

bool has_compare(const Place& place, uint64_t bytes) {
  static const bool only_small = mpi::is_open_mpi_before(5);
  return !only_small || bytes == 4 || place.segment->outstanding == nullptr;
}

int64_t atomic(const Place& place, uint64_t bytes, int operation, int64_t operand, int64_t compare) {
  return bytes == 8 ? apply<int64_t>(place, operation, operand, compare)
                    : apply<int32_t>(place, operation, operand, compare);
}

LockResult lock(const Place& place, int32_t me, bool try_only, Patience* patience, Sync* sync) {
  const Place ticket = member(place, offsetof(xmp_lock_t, tasuki_ticket)),
              serving = member(place, offsetof(xmp_lock_t, tasuki_serving)),
              holder = member(place, offsetof(xmp_lock_t, tasuki_holder));
  if (read(holder) == me) return LockResult::held_by_me;
  if (try_only) {
    const int64_t now = read(serving);
    // Numbers of 4 bytes: they may wrap around.
    if (atomic(ticket, 4, TASUKI_XMP_ATOMIC_CAS, static_cast<int32_t>(static_cast<uint32_t>(now) + 1), now) !=
        now)
      return LockResult::not_acquired;
  } else {
    const int64_t mine = atomic(ticket, 4, TASUKI_XMP_ATOMIC_ADD, 1, 0);
    Waiter waiter(patience);
    for (unsigned turns = 1; read(serving) != mine; turns++) {
      waiter.turn();
      if (sync == nullptr || turns % kTurnsOfTrust != 0) continue;
      const int64_t other = read(holder);
      if (other != 0 && sync->has_ended(static_cast<int>(other) - 1) && read(holder) == other)
        return LockResult::holder_ended;
    }
  }
  atomic(holder, 4, TASUKI_XMP_ATOMIC_DEFINE, me, 0);
  return LockResult::done;
}

LockResult unlock(const Place& place, int32_t me) {
  const Place serving = member(place, offsetof(xmp_lock_t, tasuki_serving)),
              holder = member(place, offsetof(xmp_lock_t, tasuki_holder));
  const int64_t whose = read(holder);
  if (whose != me) return whose == 0 ? LockResult::not_held : LockResult::held_by_other;
  atomic(holder, 4, TASUKI_XMP_ATOMIC_DEFINE, 0, 0);
  atomic(serving, 4, TASUKI_XMP_ATOMIC_ADD, 1, 0);
  return LockResult::done;
}

}  // namespace tasuki::coarray
