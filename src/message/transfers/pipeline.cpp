#include "message/transfers/pipeline.h"

#include <algorithm>

#include "base/cpu.h"
#include "message/shared/lines.h"
#include "message/transfers/transfer.h"
#include "os/process/yielding.h"

namespace tasuki::message {
namespace {

constexpr uint64_t kMostBytes = uint64_t{kStagingBytes} << 30;
// Short messages are cut finer, so that unpacking begins early.
constexpr uint64_t kUnits = 8;
constexpr uint64_t kSmallestUnit = 1 << 10;
bool nothing_left(const Transfer& t) {
  const uint64_t word = t.unclaimed_by_sides.load(std::memory_order_relaxed);
  return static_cast<uint32_t>(word) >= static_cast<uint32_t>(word >> 32);
}

// Polls for which a side of a pipelined transfer waits for its partner before it copies units alone, until
// that one goes on: longer than one unit takes (1 to 2 us), shorter than a time slice that a descheduled
// partner is away.
constexpr uint32_t kPartnerPolls = 400;

// What stands in a hint for a message that went pipelined; zeros stand for none.
uint32_t mark_of(uint64_t key) {
  return static_cast<uint32_t>(key >> 32) | 1;
}

// Units `*unpacked` up to `packed` of the buffer; returns their bytes. The caller gives them back together:
// each time takes as long as some lines.
uint64_t unpack_units(const Transfer& t, uint32_t* unpacked, uint32_t packed) {
  Staging& s = *t.staging;
  uint64_t copied = 0;
  const auto fetch = [&](uint32_t unit) { fetch_lines<false>(s.slot(unit % kStagingSlots), t.unit_bytes); };
  fetch(*unpacked);
  while (*unpacked != packed) {
    if (*unpacked + 1 != packed) fetch(*unpacked + 1);
    const uint32_t slot = *unpacked % kStagingSlots;
    const uint64_t from = s.unit[slot] * t.unit_bytes;
    if (from < t.bytes) {  // the receive may be shorter than what was packed ahead
      const uint64_t n = std::min(t.unit_bytes, t.bytes - from);
      layout::unpack(t.destination, from, n, s.slot(slot));
      copied += n;
    }
    s.unpacked.store(++*unpacked, std::memory_order_release);
  }
  return copied;
}

}  // namespace

bool open_pipeline(Transfer& t, Request* first, const Request* send, uint64_t bytes) {
  Staging* staging = send->owner->staging;
  if (bytes > kMostBytes || staging->busy.exchange(1, std::memory_order_acquire) != 0) return false;
  t.source = send->region;
  t.bytes = bytes;
  cut_evenly(t, std::clamp(bytes / kUnits / kLine * kLine, kSmallestUnit, kStagingBytes));
  t.is_transfer = 1;
  t.mode = TransferMode::pipelined;
  t.first = first;
  t.staging = staging;
  // Release: the receiver of the message before this one may still look at the buffer, and must then find
  // that it is done.
  staging->packed.store(0, std::memory_order_release);
  staging->unpacked.store(0, std::memory_order_relaxed);
  t.source_here.store(0, std::memory_order_relaxed);
  t.destination_here.store(0, std::memory_order_relaxed);
  t.pending.store(t.units + 1, std::memory_order_relaxed);
  t.unclaimed_by_sides.store(uint64_t{t.units} << 32, std::memory_order_relaxed);
  return true;
}

void expect(const std::atomic<uint32_t>& here, const Request* first) {
  if (first->owner->waiting.load(std::memory_order_relaxed) == 0) return;
  for (uint32_t i = 0; i < kPartnerPolls && here.load(std::memory_order_relaxed) == 0; i++) cpu_relax();
}

namespace {

// Packs one claimed unit into the buffer, which has room.
uint64_t pack_unit(Transfer& t, uint32_t unit, uint32_t* packed) {
  Staging& s = *t.staging;
  const uint64_t from = unit * t.unit_bytes;
  // Of the source's: how many bytes the receive takes may not be known yet.
  const uint64_t n = std::min(t.unit_bytes, layout::bytes(t.source) - from);
  const uint32_t slot = *packed % kStagingSlots;
  fetch_lines<true>(s.slot(slot), n);
  layout::pack(s.slot(slot), t.source, from, n);
  s.unit[slot] = unit;
  s.packed.store(++*packed, std::memory_order_release);
  return n;
}

}  // namespace

void pack_side(Transfer& t, uint64_t* copied, uint64_t* claims) {
  if (nothing_left(t)) return;  // without a look at lines that the other side writes
  Staging& s = *t.staging;
  uint32_t packed = s.packed.load(std::memory_order_relaxed);
  // As last seen: the other side's line is looked at only when the buffer seems full.
  uint32_t unpacked = s.unpacked.load(std::memory_order_acquire);
  uint32_t polls = 0;
  Claim c;
  for (;;) {
    const bool partner = t.destination_here.load(std::memory_order_acquire) != 0;
    if (packed - unpacked == kStagingSlots) unpacked = s.unpacked.load(std::memory_order_acquire);
    const bool room = packed - unpacked < kStagingSlots;
    if (partner && !room && polls < kPartnerPolls) {
      if (nothing_left(t)) return;
      polls++;
      cpu_relax();
      continue;
    }
    if (!claim(t.unclaimed_by_sides, End::front, 1, &c)) return;
    ++*claims;
    if (partner && room) {
      *copied += pack_unit(t, c.first, &packed);
      polls = 0;
      continue;
    }
    *copied += copy_claim(t, c);
    if (give_back(t, 1)) return;
  }
}

uint64_t pack_ahead(Request* send) {
  constexpr uint32_t kAtOnce = 4;  // units: the sender may wait for something else, too
  Transfer& t = send->transfer;
  uint32_t packed = t.staging->packed.load(std::memory_order_relaxed);
  uint64_t copied = 0;
  Claim c;
  for (uint32_t i = 0; i < kAtOnce && packed < kStagingSlots; i++) {
    if (t.destination_here.load(std::memory_order_relaxed) != 0) break;
    if (!claim(t.unclaimed_by_sides, End::front, 1, &c)) break;
    copied += pack_unit(t, c.first, &packed);
  }
  return copied;
}

void unpack_side(Transfer& t, uint64_t* copied, uint64_t* claims) {
  Staging& s = *t.staging;
  const bool is_first = t.first->kind == RequestKind::receive;
  // The share of the second side keeps the structure alive; only it is left when all units are copied.
  const auto finished = [&] {
    return is_first ? t.first->state.load(std::memory_order_acquire) == RequestState::done
                    : t.pending.load(std::memory_order_acquire) == 1;
  };
  uint32_t unpacked = s.unpacked.load(std::memory_order_relaxed);
  uint32_t polls = 0;
  os::Yielding yielding;
  Claim c;
  for (;;) {
    // In this order: when the transfer is not finished now, the buffer was still its own when it was looked
    // at.
    const uint32_t packed = s.packed.load(std::memory_order_acquire);
    if (finished()) return;
    if (packed != unpacked) {
      const uint32_t units = packed - unpacked;
      *copied += unpack_units(t, &unpacked, packed);
      polls = 0;
      if (give_back(t, units)) return;
      continue;
    }
    const bool partner = t.source_here.load(std::memory_order_acquire) != 0;
    if (partner && polls < kPartnerPolls) {
      polls++;
      cpu_relax();
      continue;
    }
    if (!claim(t.unclaimed_by_sides, End::front, 1, &c)) {
      yielding.turn();  // the rest is in the hands of a packing side that does not run
      continue;
    }
    ++*claims;
    *copied += copy_claim(t, c);
    if (give_back(t, 1)) return;
  }
}

bool went_pipelined(const Staging& s, uint64_t key) {
  return s.hints[key % kHints].load(std::memory_order_relaxed) == mark_of(key);
}

void note_way(Staging& s, uint64_t key, bool pipelined) {
  if (went_pipelined(s, key) == pipelined) return;
  s.hints[key % kHints].store(pipelined ? mark_of(key) : 0, std::memory_order_relaxed);
}

void begin_ahead(Request* send) {
  Transfer& t = send->transfer;
  if (!open_pipeline(t, send, send, layout::bytes(send->region))) return;
  t.source_here.store(1, std::memory_order_relaxed);
  send->ahead = 1;
  send->looks_ahead = 0;
}

void end_ahead(Request* send) {
  send->ahead = 0;
  send->transfer.staging->busy.store(0, std::memory_order_release);
}

}  // namespace tasuki::message
