#include "message/transfers/job.h"

#include <algorithm>
#include <bit>

#include "base/cpu.h"
#include "message/transfers/sums.h"
#include "message/transfers/transfer.h"
#include "os/memory/keys.h"
#include "os/process/futex.h"
#include "os/process/yielding.h"

namespace tasuki::message {
namespace {

constexpr uint64_t kSmallestUnit = 1 << 10;
constexpr uint64_t kLargestUnit = 8 << 10;
// A job has at least this many units where it can, so that several tasks get a part.
constexpr uint64_t kUnitsWanted = 16;
// Units that end between blocks cost less; blocks beyond this size are cut.
constexpr uint64_t kLargestGrain = 64 << 10;
constexpr uint64_t kMostUnits = 1u << 30;
// A claim takes this part of what is left.
constexpr uint32_t kPart = 4;
// What a task that waits for something else takes at a time: 1 to 3 us of copying.
constexpr uint32_t kHelperUnits = 4;

}  // namespace

void cut(CopyJob& job, uint64_t largest_claim_bytes) {
  uint64_t unit =
      std::clamp((job.bytes / kUnitsWanted + kLine - 1) / kLine * kLine, kSmallestUnit, kLargestUnit);
  const uint64_t grain = std::max(layout::grain(job.source), layout::grain(job.destination));
  if (grain > 1 && grain <= kLargestGrain) unit = (unit + grain - 1) / grain * grain;
  while ((job.bytes - 1) / unit >= kMostUnits) unit *= 2;
  cut_evenly(job, unit);
  job.largest_claim = static_cast<uint32_t>(std::clamp<uint64_t>(largest_claim_bytes / unit, 1, kMostUnits));
}

void cut_evenly(CopyJob& job, uint64_t unit_bytes) {
  job.unit_bytes = unit_bytes;
  job.units = static_cast<uint32_t>((job.bytes - 1) / unit_bytes + 1);
  job.largest_claim = 1;
  job.board_slot = 0;
  job.is_transfer = 0;
  job.begin = 0;
  job.sum = Number::none;
}

void open_job(CopyJob& job) {
  job.pending.store(job.units + 1, std::memory_order_relaxed);
  job.unclaimed.store(static_cast<uint64_t>(job.units) << 32, std::memory_order_release);
}

bool claim(std::atomic<uint64_t>& unclaimed, End end, uint32_t most, Claim* c) {
  uint64_t word = unclaimed.load(std::memory_order_relaxed);
  for (;;) {
    const uint32_t front = static_cast<uint32_t>(word), back = static_cast<uint32_t>(word >> 32);
    if (front >= back) return false;
    const uint32_t n = std::clamp((back - front) / kPart, 1u, most);
    const uint64_t rest = end == End::front ? word + n : word - (static_cast<uint64_t>(n) << 32);
    if (unclaimed.compare_exchange_weak(word, rest, std::memory_order_acq_rel, std::memory_order_relaxed)) {
      *c = {end == End::front ? front : back - n, n};
      return true;
    }
  }
}

void copy_part(const layout::Region& destination, const layout::Region& source, uint64_t bytes,
               const Part& part) {
  const os::WritesAllowed allowed;
  if (part.sum != Number::none)
    add_region(part.sum, destination, source, part.begin, bytes);
  else
    layout::copy(destination, source, part.begin, bytes);
}

uint64_t copy_claim(const CopyJob& job, const Claim& c) {
  const uint64_t from = c.first * job.unit_bytes;
  if (from >= job.bytes) return 0;  // of a message that was packed ahead for a receive that is shorter
  const uint64_t n = std::min(c.count * job.unit_bytes, job.bytes - from);
  copy_part(job.destination, job.source, n, {job.begin + from, job.sum});
  return n;
}

void announce(JobBoard& board, CopyJob& job) {
  uint64_t taken = board.taken.load(std::memory_order_relaxed);
  for (;;) {
    const int slot = std::countr_one(taken);
    if (slot == static_cast<int>(JobBoard::kSlots)) return;
    const uint64_t bit = uint64_t{1} << slot;
    if (!board.taken.compare_exchange_weak(taken, taken | bit, std::memory_order_acquire,
                                           std::memory_order_relaxed))
      continue;
    job.board_slot = static_cast<uint32_t>(slot) + 1;
    board.job[slot].store(&job, std::memory_order_relaxed);
    // With the order of a helper thread that goes to sleep: count itself, then look at `open`.
    board.open.fetch_or(bit, std::memory_order_seq_cst);
    if (board.sleepers.load(std::memory_order_seq_cst) != 0) {
      board.wakeups.fetch_add(1, std::memory_order_release);
      os::futex_wake(&board.wakeups, INT32_MAX);
    }
    return;
  }
}

void withdraw(JobBoard& board, CopyJob& job) {
  if (job.board_slot == 0) return;
  const uint64_t bit = uint64_t{1} << (job.board_slot - 1);
  job.board_slot = 0;
  board.open.fetch_and(~bit, std::memory_order_relaxed);
  board.taken.fetch_and(~bit, std::memory_order_release);
}

uint64_t help_others(JobBoard& board, End end) {
  for (uint64_t open = board.open.load(std::memory_order_acquire); open != 0; open &= open - 1) {
    CopyJob* job = board.job[std::countr_zero(open)].load(std::memory_order_relaxed);
    Claim c;
    if (job == nullptr || !claim(*job, end, kHelperUnits, &c)) continue;
    const uint64_t n = copy_claim(*job, c);
    if (job->is_transfer != 0)
      give_back(*static_cast<Transfer*>(job), c.count);
    else
      job->pending.fetch_sub(c.count, std::memory_order_release);
    return n;
  }
  return 0;
}

void copy_shared(JobBoard& board, const layout::Region& destination, const layout::Region& source,
                 uint64_t bytes, uint64_t largest_claim_bytes, CopyJob& job, const Part& part) {
  job.source = source;
  job.destination = destination;
  job.bytes = bytes;
  cut(job, largest_claim_bytes);
  job.begin = part.begin;
  job.sum = part.sum;
  open_job(job);
  announce(board, job);
  Claim c;
  while (claim(job, End::front, job.largest_claim, &c)) {
    copy_claim(job, c);
    job.pending.fetch_sub(c.count, std::memory_order_relaxed);
  }
  withdraw(board, job);
  os::Yielding yielding;
  for (uint32_t polls = 1; job.pending.load(std::memory_order_acquire) != 1; polls++) {
    if (polls % 64 == 0)
      yielding.turn();
    else
      cpu_relax();
  }
}

}  // namespace tasuki::message
