// Sharing a copy: one mechanism for the two ranks of a message, for tasks that wait and for helper threads.
//
// A job is cut into units. A task claims a few of them with one compare-and-swap, copies them, and gives them
// back as done; so a task that is descheduled delays its own claim only. Claims get smaller towards the end
// (guided self-scheduling), so that all finish together.
//
// The two sides claim from opposite ends, and which end is theirs depends on their slots, not on who sends:
// in an exchange back and forth a core then touches the same half of both buffers each time, and its lines
// stay in its own cache (1 MiB ping-pong: see docs/performance.md). The paper's fixed halves (Shimada et al.
// 2016, section 4) are the case where both sides are equally fast.
//
// A pointer to a job stays valid memory for ever (map_forever), and a claim needs nothing but the word
// `unclaimed`: who comes late finds it empty, or claims a part of the job that lives there now, which is as
// good. Only after a successful claim are the other fields read.
#pragma once

#include "message/shared/shared.h"

namespace tasuki::message {

enum class End : uint8_t { front, back };

struct Claim {
  uint32_t first, count;  // units
};

// Sets up a job whose regions and bytes are filled in: `bytes` > 0 cut into units of whole blocks where that
// is possible, claimed in parts of at most `largest_claim_bytes`. Nobody can claim before open_job.
void cut(CopyJob& job, uint64_t largest_claim_bytes);
// The same into units of that size, claimed one by one.
void cut_evenly(CopyJob& job, uint64_t unit_bytes);
// Lets tasks claim. `pending` is units + 1 from here on.
void open_job(CopyJob& job);

// Which packed bytes, and what becomes of them there (CopyJob).
struct Part {
  uint64_t begin = 0;
  Number sum = Number::none;
};

// By the caller alone.
void copy_part(const layout::Region& destination, const layout::Region& source, uint64_t bytes,
               const Part& part);

// At most `most` units; false when none is left.
bool claim(std::atomic<uint64_t>& unclaimed, End end, uint32_t most, Claim* c);
inline bool claim(CopyJob& job, End end, uint32_t most, Claim* c) {
  return claim(job.unclaimed, end, most, c);
}
// Copies what was claimed; returns its bytes.
uint64_t copy_claim(const CopyJob& job, const Claim& c);

// Tells idle tasks of a job; withdrawn by the task that announced it, before it gives up its share of
// `pending`. Does nothing when the board is full.
void announce(JobBoard& board, CopyJob& job);
void withdraw(JobBoard& board, CopyJob& job);

// Claims and copies a part of some announced job: one claim, so that the caller soon looks again for what it
// waits for. Returns the bytes copied, 0 if there was nothing to do.
uint64_t help_others(JobBoard& board, End end);

// A job of the caller's own, copied by him and by whoever helps: returns when it is done.
void copy_shared(JobBoard& board, const layout::Region& destination, const layout::Region& source,
                 uint64_t bytes, uint64_t largest_claim_bytes, CopyJob& job, const Part& part = {});

}  // namespace tasuki::message
