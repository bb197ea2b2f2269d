#include "message/transfers/staged.h"

#include <algorithm>
#include <cstring>

#include "message/transfers/key.h"
#include "message/transfers/pipeline.h"
#include "message/transfers/units.h"
#include "message/transfers/ways.h"
#include "os/process/yielding.h"

namespace tasuki::message {
namespace {

// With 4 KiB most took longer on a Xeon, with an eighth of the message some.
uint32_t unit_bytes_for_staged(uint64_t bytes) {
  constexpr uint64_t kSmallest = 2 << 10;
  const uint64_t least = (bytes + kStagingSlots - 1) / kStagingSlots;
  return static_cast<uint32_t>(std::max(kSmallest, (least + kLine - 1) / kLine * kLine));
}

uint32_t units_of(uint64_t bytes, uint64_t unit_bytes) {
  return static_cast<uint32_t>((bytes - 1) / unit_bytes + 1);
}

// Calls use(unit's bytes, from, n) for each unit in order, as they come, and gives the buffer back.
template <typename Use>
void take_units(Staging& s, const StagedHead& head, uint64_t bytes, Use use) {
  constexpr uint32_t kPolls = 4000;  // of a packing side that runs: 100 us
  const uint32_t units = units_of(bytes, head.unit_bytes);
  os::Yielding yielding;
  uint32_t polls = 0;
  for (uint32_t unit = 0; unit != units;) {
    const uint32_t packed = s.packed.load(std::memory_order_acquire);
    if (packed == unit) {
      if (++polls < kPolls)
        cpu_relax();
      else
        yielding.turn();
      continue;
    }
    polls = 0;
    fetch_lines<false>(s.data[unit], head.unit_bytes);
    for (; unit != packed; unit++) {
      if (unit + 1 != packed) fetch_lines<false>(s.data[unit + 1], head.unit_bytes);
      const uint64_t from = uint64_t{unit} * head.unit_bytes;
      use(s.data[unit], from, std::min<uint64_t>(head.unit_bytes, bytes - from));
    }
  }
  s.busy.store(0, std::memory_order_release);
}

}  // namespace

bool open_staged(const Request* send, StagedHead* head) {
  Staging& s = *send->owner->staging;
  if (s.busy.exchange(1, std::memory_order_acquire) != 0) return false;
  s.packed.store(0, std::memory_order_release);  // as in open_pipeline()
  s.source = layout::footprint(send->region);
  *head = {key_of_send(send).value(), unit_bytes_for_staged(layout::bytes(send->region)),
           is_dense_run(send->region) ? 1u : 0u};
  return true;
}

void close_staged(Staging& s) {
  s.busy.store(0, std::memory_order_release);
}

void pack_staged(const Request* send, const StagedHead& head) {
  Staging& s = *send->owner->staging;
  const uint64_t bytes = layout::bytes(send->region);
  for (uint32_t unit = 0, units = units_of(bytes, head.unit_bytes); unit != units; unit++) {
    const uint64_t from = uint64_t{unit} * head.unit_bytes;
    const uint64_t n = std::min<uint64_t>(head.unit_bytes, bytes - from);
    fetch_lines<true>(s.data[unit], n);
    layout::pack(s.data[unit], send->region, from, n);
    s.packed.store(unit + 1, std::memory_order_release);
  }
}

void unpack_staged(const Request* receive, Staging& s, const StagedHead& head, uint64_t bytes) {
  const uint64_t room = receive->status_bytes;
  take_units(s, head, bytes, [&](const char* unit, uint64_t from, uint64_t n) {
    if (from < room) layout::unpack(receive->region, from, std::min(n, room - from), unit);
  });
}

void copy_staged(char* to, Staging& s, const StagedHead& head, uint64_t bytes) {
  take_units(s, head, bytes,
             [&](const char* unit, uint64_t from, uint64_t n) { memcpy(to + from, unit, n); });
}

void learn_of_staged(const TransferPolicy& policy, const Request* receive, const Endpoint* sender,
                     const StagedHead& head, uint64_t bytes) {
  if (policy.protocol != Protocol::automatic) return;
  Staging& s = *sender->staging;
  const uint64_t stream = key_of_message(Key(head.key), sender, receive->region).value();
  const Way way = find_way(
      policy, stream, head.dense != 0, [&s] { return s.source; }, receive, bytes);
  note_way(s, head.key, way == Way::pipelined);
}

}  // namespace tasuki::message
