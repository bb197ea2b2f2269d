// Messages in the slots of a ring (shared.h): writing them, reading them.
//
// Performance budget: 8 bytes are one line written by the sender and read by the receiver; 480 bytes are
// nine, all asked for at once; what is in a parcel as many as it has, and one.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/cpu.h"
#include "message/shared/lines.h"
#include "message/shared/shared.h"

namespace tasuki::message {

inline bool slot_is_full(const Ring& ring) {
  const uint32_t head = ring.head.load(std::memory_order_relaxed);
  return ring.slots[head % kRingSlots].sequence.load(std::memory_order_acquire) == lap_of(head);
}

// Asks for all lines of an inline message at once: they otherwise come one by one, each for as long as the
// first.
template <typename Fetch>
void fetch_slots(uint32_t at, uint32_t bytes, Fetch fetch) {
  for (uint32_t i = 1, n = slots_for(bytes); i < n; i++) fetch((at + i) % kRingSlots);
}

// Whole slots are copied by a constant size, a few instructions instead of a call.
inline void copy_body(char* to, const char* from, uint32_t n) {
  if (n == kBodyBytes)
    memcpy(to, from, kBodyBytes);
  else
    memcpy(to, from, n);
}

// Writes an inline message behind its header, which the caller publishes afterwards.
inline void write_inline(Ring& ring, uint32_t at, const char* data, uint32_t bytes) {
  fetch_slots(at, bytes, [&](uint32_t slot) { fetch_to_write(&ring.slots[slot]); });
  const uint32_t first = std::min(bytes, kHeadBytes);
  memcpy(ring.slots[at % kRingSlots].head.data, data, first);
  for (uint32_t done = first; done < bytes;) {
    RingSlot& slot = ring.slots[++at % kRingSlots];
    const uint32_t n = std::min(bytes - done, kBodyBytes);
    slot.sequence.store(0, std::memory_order_relaxed);
    copy_body(slot.body, data + done, n);
    done += n;
  }
}

inline void read_inline(const Ring& ring, uint32_t at, char* data, uint32_t bytes) {
  fetch_slots(at, bytes, [&](uint32_t slot) { __builtin_prefetch(&ring.slots[slot]); });
  const uint32_t first = std::min(bytes, kHeadBytes);
  memcpy(data, ring.slots[at % kRingSlots].head.data, first);
  for (uint32_t done = first; done < bytes;) {
    const uint32_t n = std::min(bytes - done, kBodyBytes);
    copy_body(data + done, ring.slots[++at % kRingSlots].body, n);
    done += n;
  }
}

inline bool is_in_parcel(const RingHead& head) {
  return head.bytes != kInCell && (head.bytes & kInParcel) != 0;
}
inline bool is_staged(const RingHead& head) {
  return head.bytes != kInCell && (head.bytes & kStaged) != 0;
}
// Of a message that is not in a cell.
inline uint32_t message_bytes(const RingHead& head) {
  return head.bytes & ~(kInParcel | kStaged);
}
inline uint32_t slots_of(const RingHead& head) {
  return head.bytes >= kStaged ? 1 : slots_for(head.bytes);
}

// By the sender: the receiver has read as far as `head`, at least. What is not between what is known and what
// was sent is old, by more positions than the counters have.
inline void note_head(Ring& ring, uint32_t head) {
  if (head - ring.seen_head > ring.tail - ring.seen_head) return;
  ring.seen_head = head;
  while (ring.parcel_count != 0 &&
         static_cast<int32_t>(head - ring.parcels[ring.oldest_parcel % kParcels].at) > 0) {
    ring.oldest_parcel++;
    ring.parcel_count--;
  }
}
inline void look_at_head(Ring& ring) {
  note_head(ring, ring.head.load(std::memory_order_acquire));
}

// By the sender: where a parcel of so many bytes has room, from the front on if there is no other, else
// behind the newest one, around the end of the first `room` bytes. False: nowhere.
inline bool find_place(const Ring& ring, uint32_t bytes, uint32_t room, uint32_t* begin) {
  *begin = 0;
  if (ring.parcel_count == 0) return true;
  if (ring.parcel_count == kParcels) return false;
  const uint32_t used = ring.parcels[ring.oldest_parcel % kParcels].begin;
  const uint32_t end = ring.parcels[(ring.oldest_parcel + ring.parcel_count - 1) % kParcels].end;
  *begin = (end + kLine - 1) / kLine * kLine;
  if (end <= used) return *begin + bytes <= used;
  if (*begin + bytes <= room) return true;
  *begin = 0;
  return bytes <= used;
}

// Room for a parcel that is about to be sent, its lines on their way to this core.
inline char* add_parcel(Ring& ring, uint32_t at, uint32_t begin, uint32_t bytes) {
  ring.parcels[(ring.oldest_parcel + ring.parcel_count) % kParcels] = {at, begin, begin + bytes};
  ring.parcel_count++;
  ring.parcels_sent++;
  memcpy(ring.slots[at % kRingSlots].head.data, &begin, sizeof begin);
  fetch_lines<true>(ring.packed + begin, bytes);
  return ring.packed + begin;
}

// The packed bytes of the parcel whose head is there, on their way to this core.
inline const char* parcel_at(const Ring& ring, uint32_t at, uint32_t bytes) {
  uint32_t begin;
  memcpy(&begin, ring.slots[at % kRingSlots].head.data, sizeof begin);
  fetch_lines<false>(ring.packed + begin, bytes);
  return ring.packed + begin;
}

inline Cell* cell_at(const Ring& ring, uint32_t at) {
  Cell* cell;
  memcpy(&cell, ring.slots[at % kRingSlots].head.data, sizeof cell);
  return cell;
}

}  // namespace tasuki::message
