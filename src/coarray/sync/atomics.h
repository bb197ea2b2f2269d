// atomics: read-modify-write on 4 or 8 bytes of any image, and the locks made of them. By the processor where
// all images are direct, else through the window for all, this image included: the two kinds need not agree.
#pragma once

#include <cstdint>

#include "coarray/local/place.h"
#include "coarray/sync/sync.h"

namespace tasuki::coarray {

// `operation` is one of TASUKI_XMP_ATOMIC_. The old value; complete at the target on return. Open MPI 4 dies
// of MPI_Compare_and_swap on 8 bytes (4.1.4, osc/rdma over btl/vader): has_compare() is false then.
bool has_compare(const Place& place, uint64_t bytes);
int64_t atomic(const Place& place, uint64_t bytes, int operation, int64_t operand, int64_t compare);

enum class LockResult { done, not_acquired, held_by_me, held_by_other, not_held, holder_ended };

// A ticket lock: those that wait get it in the order of their calls. `place` is of an xmp_lock_t, `me` one
// more than this image's index in all. With `sync` one that waits learns that the holder has ended.
LockResult lock(const Place& place, int32_t me, bool try_only, Patience* patience, Sync* sync = nullptr);
LockResult unlock(const Place& place, int32_t me);

}  // namespace tasuki::coarray
