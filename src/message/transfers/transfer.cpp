#include "message/transfers/transfer.h"

#include <algorithm>

#include "base/cpu.h"
#include "message/shared/wait.h"
#include "message/transfers/trials.h"
#include "os/clock.h"
#include "os/memory/keys.h"
#include "os/process/yielding.h"

namespace tasuki::message {
namespace {

// A pipelined transfer needs some units to overlap its two stages.
constexpr uint64_t kPipelineFrom = 2 << 10;
// Below, a stream's own state costs more than there is to gain.
constexpr uint64_t kLearnFrom = kPipelineFrom, kLearnDenseFrom = 16000;
constexpr uint64_t kMostPipelined = uint64_t{kStagingBytes} << 30;
// Short messages are cut finer, so that unpacking begins early.
constexpr uint64_t kUnitsInPipeline = 8;
constexpr uint64_t kSmallestInPipeline = 1 << 10;

// The key of a message's stream: see trials.h. What a region is like, not where it is.
uint64_t stream_of(const Request* send, const layout::Region& source, const layout::Region& destination) {
  uint64_t key = 0;
  const auto add = [&](uint64_t word) {
    key = (key ^ word) * 0x9e3779b97f4a7c15u;
    key ^= key >> 29;
  };
  add(uint64_t{send->context} << 32 | static_cast<uint32_t>(send->tag));
  add(static_cast<uint32_t>(send->owner->slot));
  for (const layout::Region* r : {&source, &destination}) {
    add(layout::bytes(*r));
    add(r->count << 32 ^ layout::run_count(r->layout));
    add(static_cast<uint64_t>(layout::extent(r->layout)));
  }
  return key;
}

// Scattered layouts are told from dense ones at a glance.
bool is_dense(const layout::Region& r) {
  char* start;
  return layout::run_count(r.layout) == 1 && layout::is_dense(r, &start);
}

TransferMode choose(const TransferPolicy& policy, const Request* send, const Request* receive,
                    const layout::Region& source, const layout::Region& destination, uint64_t bytes) {
  switch (policy.protocol) {
    case Protocol::direct:
      return TransferMode::direct;
    case Protocol::pipelined:
      return TransferMode::pipelined;
    case Protocol::eager:
      return TransferMode::alone;
    case Protocol::automatic:
      break;
  }
  const bool dense = is_dense(source) && is_dense(destination);
  const bool learns = policy.learns && bytes >= (dense ? kLearnDenseFrom : kLearnFrom);
  const Way of_dense = bytes >= policy.from.share_dense_from ? Way::direct : Way::alone;
  const auto model = [&] {
    Prospects p = prospects(policy.costs, layout::footprint(source), layout::footprint(destination));
    if (dense) p.best = of_dense;
    return p;
  };
  Way way;
  if (learns)
    way = receive->owner->streams->next(stream_of(send, source, destination), model, os::monotonic_ns);
  else
    way = dense ? of_dense : model().best;
  switch (way) {
    case Way::pipelined:
      if (bytes >= kPipelineFrom) return TransferMode::pipelined;
      break;
    case Way::direct:
      return TransferMode::direct;
    case Way::alone:
      break;
  }
  return TransferMode::alone;
}

End first_end(const Transfer& t) {
  return t.first_front != 0 ? End::front : End::back;
}
End second_end(const Transfer& t) {
  return t.first_front != 0 ? End::back : End::front;
}

void direct_side(Transfer& t, End end, bool stay, uint64_t* copied, uint64_t* claims) {
  Claim c;
  while (claim(t, end, t.largest_claim, &c)) {
    *copied += copy_claim(t, c);
    ++*claims;
    if (give_back(t, c.count) || !stay) return;
  }
}

// Asks for lines of another core's all at once; one by one, each takes as long as the first. On far cores, in
// us, without and with: SPECFEM3D_oc 12.9 KB 11.4 and 8.6, NAS_MG_x 32 KiB 22 and 19.
template <bool to_write>
void fetch_lines(const char* at, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; i += kLine) {
    if constexpr (to_write)
      fetch_to_write(at + i);
    else
      __builtin_prefetch(at + i);
  }
}

bool nothing_left(const CopyJob& job) {
  const uint64_t word = job.unclaimed.load(std::memory_order_relaxed);
  return static_cast<uint32_t>(word) >= static_cast<uint32_t>(word >> 32);
}

// Polls for which a side of a pipelined transfer waits for its partner before it copies a unit alone: longer
// than one unit takes (1 to 2 us), shorter than a time slice that a descheduled partner is away.
constexpr uint32_t kPartnerPolls = 400;

// Gives the first side a moment to come when it waits in a call of MPI: it is mostly this transfer that it
// waits for, and then it is here before a unit could be copied alone, across the cores.
void expect(const std::atomic<uint32_t>& here, const Request* first) {
  if (first->owner->waiting.load(std::memory_order_relaxed) == 0) return;
  for (uint32_t i = 0; i < kPartnerPolls && here.load(std::memory_order_relaxed) == 0; i++) cpu_relax();
}

void pack_side(Transfer& t, uint64_t* copied, uint64_t* claims) {
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
    if (partner && !room && ++polls < kPartnerPolls) {
      if (nothing_left(t)) return;
      cpu_relax();
      continue;
    }
    polls = 0;
    if (!claim(t, End::front, 1, &c)) return;
    ++*claims;
    if (!partner || !room) {
      *copied += copy_claim(t, c);
      if (give_back(t, 1)) return;
      continue;
    }
    const uint64_t from = c.first * t.unit_bytes;
    const uint64_t n = std::min(t.unit_bytes, t.bytes - from);
    const uint32_t slot = packed % kStagingSlots;
    fetch_lines<true>(s.data[slot], n);
    layout::pack(s.data[slot], t.source, from, n);
    s.unit[slot] = c.first;
    s.packed.store(++packed, std::memory_order_release);
    *copied += n;
  }
}

// Stays until every unit is copied: the packing side relies on it. `finished` tells when that is.
template <typename Finished>
void unpack_side(Transfer& t, Finished finished, uint64_t* copied, uint64_t* claims) {
  Staging& s = *t.staging;
  uint32_t unpacked = s.unpacked.load(std::memory_order_relaxed);
  uint32_t polls = 0;
  os::Yielding yielding;
  Claim c;
  for (;;) {
    // In this order: when the transfer is not finished now, the buffer was still its own when it was looked
    // at.
    const bool there = s.packed.load(std::memory_order_acquire) != unpacked;
    if (finished()) return;
    if (there) {
      const uint32_t slot = unpacked % kStagingSlots;
      const uint64_t from = s.unit[slot] * t.unit_bytes;
      const uint64_t n = std::min(t.unit_bytes, t.bytes - from);
      fetch_lines<false>(s.data[slot], n);
      layout::unpack(t.destination, from, n, s.data[slot]);
      s.unpacked.store(++unpacked, std::memory_order_release);
      *copied += n;
      polls = 0;
      if (give_back(t, 1)) return;
      continue;
    }
    const bool partner = t.source_here.load(std::memory_order_acquire) != 0;
    if (partner && ++polls < kPartnerPolls) {
      cpu_relax();
      continue;
    }
    polls = 0;
    if (!claim(t, End::front, 1, &c)) {
      yielding.turn();  // the rest is in the hands of a packing side that does not run
      continue;
    }
    ++*claims;
    *copied += copy_claim(t, c);
    if (give_back(t, 1)) return;
  }
}

bool is_done(const Request* r) {
  return r->state.load(std::memory_order_acquire) == RequestState::done;
}

}  // namespace

void complete(Request* r) {
  Endpoint* owner = r->owner;
  r->state.store(RequestState::done, std::memory_order_release);
  wake(owner);
}

bool give_back(Transfer& t, uint32_t units) {
  if (t.pending.fetch_sub(units, std::memory_order_acq_rel) != units) return false;
  Staging* staging = t.mode == TransferMode::pipelined ? t.staging : nullptr;
  const bool first_sends = t.first->kind == RequestKind::send;
  Request* sender = first_sends ? t.first : t.second;
  Request* receiver = first_sends ? t.second : t.first;
  // The receiver may look at the staging buffer until it sees that it is done; the sender may want the buffer
  // for its next message as soon as it is.
  complete(receiver);
  if (staging != nullptr) staging->busy.store(0, std::memory_order_release);
  complete(sender);
  return true;
}

void move_message(const TransferPolicy& policy, JobBoard& board, Request* first, Request* second,
                  const layout::Region& source, const layout::Region& destination, uint64_t bytes,
                  TransferStats* stats) {
  const bool second_is_source = second->kind == RequestKind::send;
  const Request* send = second_is_source ? second : first;
  const Request* receive = second_is_source ? first : second;
  Staging* staging = send->owner->staging;
  TransferMode mode = choose(policy, send, receive, source, destination, bytes);
  if (mode == TransferMode::pipelined && bytes != 0 &&
      (bytes > kMostPipelined || staging->busy.exchange(1, std::memory_order_acquire) != 0))
    mode = TransferMode::direct;
  if (mode == TransferMode::alone || bytes == 0) {
    if (bytes != 0) {
      const os::WritesAllowed allowed;
      layout::copy(destination, source, 0, bytes);
    }
    stats->alone_bytes += bytes;
    complete(first);
    complete(second);
    return;
  }
  Transfer& t = first->transfer;
  t.source = source;
  t.destination = destination;
  t.bytes = bytes;
  cut(t, policy.claim_bytes);
  t.is_transfer = 1;
  t.mode = mode;
  t.first = first;
  t.second = second;
  t.first_front = first->owner->slot < second->owner->slot ? 1 : 0;  // see job.h
  t.staging = nullptr;
  if (mode == TransferMode::pipelined) {
    t.unit_bytes = std::clamp(bytes / kUnitsInPipeline / kLine * kLine, kSmallestInPipeline, kStagingBytes);
    t.units = static_cast<uint32_t>((bytes - 1) / t.unit_bytes + 1);
    t.staging = staging;
    // Release: the receiver of the message before this one may still look at the buffer, and must then find
    // that it is done.
    staging->packed.store(0, std::memory_order_release);
    staging->unpacked.store(0, std::memory_order_relaxed);
    t.source_here.store(second_is_source ? 1 : 0, std::memory_order_relaxed);
    t.destination_here.store(second_is_source ? 0 : 1, std::memory_order_relaxed);
  }
  open_job(t);
  first->state.store(RequestState::active, std::memory_order_release);

  uint64_t claims = 0;
  if (mode == TransferMode::direct) {
    if (bytes >= policy.from.announce_from) announce(board, t);
    direct_side(t, second_end(t), true, &stats->direct_bytes, &claims);
    withdraw(board, t);
  } else if (second_is_source) {
    expect(t.destination_here, first);
    pack_side(t, &stats->pipelined_bytes, &claims);
  } else {
    expect(t.source_here, first);
    // The share of the second side keeps the structure alive; only it is left when all units are copied.
    unpack_side(
        t, [&] { return t.pending.load(std::memory_order_acquire) == 1; }, &stats->pipelined_bytes, &claims);
  }
  give_back(t, 1);
}

void help(Request* first, bool stay, TransferStats* stats) {
  Transfer& t = first->transfer;
  if (t.mode == TransferMode::direct) {
    direct_side(t, first_end(t), stay, &stats->direct_bytes, &stats->claims_helped);
  } else if (stay && first->kind == RequestKind::send) {
    t.source_here.store(1, std::memory_order_release);
    pack_side(t, &stats->pipelined_bytes, &stats->claims_helped);
  } else if (stay) {
    t.destination_here.store(1, std::memory_order_release);
    unpack_side(
        t, [&] { return is_done(first); }, &stats->pipelined_bytes, &stats->claims_helped);
  }
}

}  // namespace tasuki::message
