#include "message/transfers/staged.h"

#include <algorithm>
#include <cstring>

#include "base/cpu.h"
#include "message/shared/lines.h"
#include "message/transfers/key.h"
#include "message/transfers/pipeline.h"
#include "message/transfers/ways.h"

namespace tasuki::message {
namespace {

// With 4 KiB most took longer on a Xeon, with an eighth of the message some.
constexpr uint32_t kUnitBytes = 2 << 10;

uint32_t units_of(uint64_t bytes, const StagedHead& head) {
  return static_cast<uint32_t>((bytes - 1) / head.unit_bytes + 1);
}

void learn(const TransferPolicy& policy, const Transfer& t, const Request* receive) {
  if (policy.protocol != Protocol::automatic) return;
  Staging& s = *t.staging;
  const auto stream = [&] { return key_of_message(Key(t.staged.key), s.owner, receive->region).value(); };
  const Way way = find_way(
      policy, stream, t.staged.dense != 0, [&s] { return s.source; }, receive, receive->status_bytes);
  note_way(s, t.staged.key, way == Way::pipelined);
}

}  // namespace

bool open_staged(const Request* send, StagedHead* head) {
  Staging& s = *send->owner->staging;
  if (s.busy.exchange(1, std::memory_order_acquire) != 0) return false;
  s.packed.store(0, std::memory_order_release);  // as in open_pipeline()
  s.source = layout::footprint(send->region);
  s.received.store(0, std::memory_order_relaxed);
  s.envelope.bytes = layout::bytes(send->region);
  s.destination.store(send->queue, std::memory_order_relaxed);
  *head = {key_of_send(send).value(), kUnitBytes, is_dense_run(send->region) ? 1u : 0u};
  return true;
}

void close_staged(Staging& s) {
  s.destination.store(nullptr, std::memory_order_relaxed);
  s.busy.store(0, std::memory_order_release);
}

void pack_staged(const Request* send, const StagedHead& head) {
  Staging& s = *send->owner->staging;
  const uint64_t bytes = layout::bytes(send->region);
  for (uint32_t unit = 0, units = units_of(bytes, head); unit != units; unit++) {
    const uint64_t from = uint64_t{unit} * head.unit_bytes;
    const uint64_t n = std::min<uint64_t>(head.unit_bytes, bytes - from);
    fetch_lines<true>(s.data + from, n);
    layout::pack(s.data + from, send->region, from, n);
    s.packed.store(unit + 1, std::memory_order_release);
  }
}

bool is_packed(const Staging& s, const StagedHead& head, uint64_t bytes) {
  return s.packed.load(std::memory_order_acquire) == units_of(bytes, head);
}

void copy_staged(char* to, const Staging& s, uint64_t bytes) {
  memcpy(to, s.data, bytes);
}

void give_staged(Request* receive, Staging& s, const StagedHead& head, uint64_t bytes) {
  s.received.store(1, std::memory_order_relaxed);
  Transfer& t = receive->transfer;
  t.mode = TransferMode::staged;
  t.staging = &s;
  t.staged = head;
  t.bytes = bytes;
  t.unpacked = t.learned = 0;
  t.destination_here.store(0, std::memory_order_relaxed);
  receive->state.store(RequestState::active, std::memory_order_release);
}

void unpack_staged(const TransferPolicy& policy, Request* receive, bool stay) {
  constexpr uint32_t kPolls = 400;  // for a unit: then others get their turn
  Transfer& t = receive->transfer;
  // Several threads may look at one request (MPI_Request_get_status).
  if (t.destination_here.exchange(1, std::memory_order_acquire) != 0) return;
  if (t.learned++ == 0) learn(policy, t, receive);  // while the first unit is packed
  Staging& s = *t.staging;
  const uint32_t units = units_of(t.bytes, t.staged);
  const uint64_t room = receive->status_bytes, unit_bytes = t.staged.unit_bytes;
  for (uint32_t polls = 0; t.unpacked != units;) {
    const uint32_t packed = s.packed.load(std::memory_order_acquire);
    if (packed == t.unpacked) {
      if (!stay || ++polls > kPolls) {
        t.destination_here.store(0, std::memory_order_release);
        return;
      }
      cpu_relax();
      continue;
    }
    polls = 0;
    fetch_lines<false>(s.data + t.unpacked * unit_bytes, unit_bytes);
    for (; t.unpacked != packed; t.unpacked++) {
      const uint64_t from = t.unpacked * unit_bytes, end = std::min(from + unit_bytes, t.bytes);
      if (t.unpacked + 1 != packed) fetch_lines<false>(s.data + end, unit_bytes);
      if (from < room) layout::unpack(receive->region, from, std::min(end, room) - from, s.data + from);
    }
  }
  close_staged(s);
  complete(receive);
}

}  // namespace tasuki::message
