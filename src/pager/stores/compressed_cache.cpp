#include "pager/stores/compressed_cache.h"

#include <lz4.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"
#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"

namespace tasuki::pager {
namespace {

constexpr uint64_t kLeastUnits = 64;         // of the ring
constexpr uint64_t kBatchBytes = 256 << 10;  // neighbours that go below in one transfer
constexpr int kMovesOfAPut = 32;             // records that one unit may have written again
constexpr uint32_t kStreamUnits = 64;        // units of a put for which no others leave
// Tickets below: those of callers' transfers are even, those of batches odd.
constexpr Ticket ticket_of(uint32_t transfer) {
  return Ticket{transfer} * 2;
}
constexpr Ticket ticket_of_batch(uint32_t batch) {
  return Ticket{batch} * 2 + 1;
}

size_t table_bytes(uint64_t slots) {
  return os::page_ceil(slots * sizeof(uint32_t) + 1);
}

bool is_uniform(const std::byte* unit, size_t bytes) {
  return memcmp(unit, unit + 1, 63) == 0 && memcmp(unit, unit + 1, bytes - 1) == 0;
}

bool overlap(Slot a, uint32_t units_of_a, Slot b, uint32_t units_of_b) {
  return a < b + units_of_b && b < a + units_of_a;
}

uint64_t round_up(uint64_t bytes, uint64_t grain) {
  return (bytes + grain - 1) / grain * grain;
}

}  // namespace

CompressedCache::CompressedCache(Store* below, uint64_t capacity)
    : below_(below),
      unit_(below->unit_bytes()),
      capacity_(capacity),
      batch_units_(static_cast<uint32_t>(std::max<uint64_t>(1, kBatchBytes / unit_))) {}

Result<std::unique_ptr<CompressedCache>> CompressedCache::create(Store* below, uint64_t bytes) {
  const uint64_t unit = below->unit_bytes(), most = uint64_t{kUniform - 1} * kGrain;
  if (bytes != 0 && bytes < kLeastUnits * unit)
    return Status::error(EINVAL, "a compressed cache of " + bytes_text(bytes, BytesStyle::exact) +
                                     " is too small: it needs " +
                                     bytes_text(kLeastUnits * unit, BytesStyle::exact) + " at least");
  std::unique_ptr<CompressedCache> cache(
      new CompressedCache(below, os::page_floor(std::min<uint64_t>(bytes, most))));
  // Memory only where it is used.
  if (bytes != 0) cache->ring_ = static_cast<std::byte*>(os::map_memory(cache->capacity_));
  cache->places_ = static_cast<Place*>(os::map_memory(table_bytes(below->slots())));
  cache->packed_ = static_cast<std::byte*>(os::map_memory(os::page_ceil(unit)));
  cache->moved_ = static_cast<std::byte*>(os::map_memory(os::page_ceil(unit)));
  cache->buffers_ = static_cast<std::byte*>(os::map_memory(kBatches * cache->batch_units_ * unit));
  if ((bytes != 0 && cache->ring_ == nullptr) || cache->places_ == nullptr || cache->packed_ == nullptr ||
      cache->moved_ == nullptr || cache->buffers_ == nullptr)
    return Status::error(
        ENOMEM, "no address space for a compressed cache of " + bytes_text(bytes, BytesStyle::exact));
  return cache;
}

CompressedCache::~CompressedCache() {
  if (ring_ != nullptr) os::unmap(ring_, capacity_);
  if (places_ != nullptr) os::unmap(places_, table_bytes(below_->slots()));
  if (packed_ != nullptr) os::unmap(packed_, os::page_ceil(unit_));
  if (moved_ != nullptr) os::unmap(moved_, os::page_ceil(unit_));
  if (buffers_ != nullptr) os::unmap(buffers_, kBatches * batch_units_ * unit_);
}

// A slot that was released while its contents were on their way below is not to arrive where the store has
// given its room back.
Status CompressedCache::reserve(uint64_t slots) {
  if (slots < reserved() && (batch_count_ > 0 || !deferred_.empty())) return {};
  return below_->reserve(slots);
}

// ---- transfers

Status CompressedCache::get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) {
  const uint32_t transfer = transfers_.enter({ticket, 1});
  for (uint32_t i = 0; i < units;) {
    std::byte* const unit = to + i * unit_;
    const Place place = places_[slot + i];
    if (place == 0) {
      uint32_t end = i + 1;
      while (end < units && places_[slot + end] == 0) end++;
      counters_.misses += end - i;
      transfers_[transfer].parts++;
      if (Status s = below_->get(slot + i, end - i, unit, ticket_of(transfer)); !s.ok()) return s;
      i = end;
      continue;
    }
    if (in_ring(place)) {
      Record* const record = at((place - 1) * kGrain);
      record->wanted = 1;
      if (!unpack(*record, unit))
        return Status::error(EIO,
                             below_->describe(slot + i) +
                                 ": its compressed bytes have changed: the memory of this host is faulty");
    } else {
      memset(unit, static_cast<int>(place & 0xff), unit_);
    }
    counters_.hits++;
    i++;
  }
  leave(transfer);
  return {};
}

bool CompressedCache::read_aside(Slot slot, uint32_t units, std::byte* to) const {
  for (uint32_t i = 0; i < units;) {
    uint32_t below = i;
    while (below < units && places_[slot + below] == 0) below++;
    if (below > i) {
      if (!below_->read_aside(slot + i, below - i, to + i * unit_)) return false;
      i = below;
      continue;
    }
    const Place place = places_[slot + i];
    if (!in_ring(place))
      memset(to + i * unit_, static_cast<int>(place & 0xff), unit_);
    else if (!unpack(*at((place - 1) * kGrain), to + i * unit_))
      return false;
    i++;
  }
  return true;
}

Status CompressedCache::put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) {
  const uint32_t transfer = transfers_.enter({ticket, 1});
  in_stream_ = units >= kStreamUnits;
  no_room_ = false;
  Status status;
  for (uint32_t i = 0, first = 0; i <= units && status.ok(); i++) {  // [first, i) goes below
    const bool kept = i < units && keep(slot + i, from + i * unit_);
    if (!kept && i < units) forget(slot + i);
    if (!kept && i < units) continue;
    if (i > first) status = put_below(slot + first, i - first, from + first * unit_, transfer);
    first = i + 1;
  }
  send_batch();
  leave(transfer);
  return status.ok() ? below_status_ : status;
}

Status CompressedCache::release(Slot slot, uint32_t units) {
  for (uint32_t i = 0; i < units; i++) forget(slot + i);
  if (counters_.units == 0 && batch_count_ == 0 && head_ != 0) {
    os::discard(ring_, os::page_ceil(std::min(head_, capacity_)));
    tail_ = cleaned_ = head_ = 0;
  }
  if (!conflicts(slot, units)) return below_->release(slot, units);
  deferred_.push_back({slot, units, nullptr, 0});
  return {};
}

Status CompressedCache::progress(Tickets* completed) {
  from_below_.clear();
  Status status = below_->progress(&from_below_);
  for (const Ticket ticket : from_below_) {
    if (ticket % 2 == 0)
      leave(static_cast<uint32_t>(ticket / 2));
    else
      finish_batch(&batches_[ticket / 2]);
  }
  if (status.ok()) status = start_deferred();
  completed->insert(completed->end(), done_.begin(), done_.end());
  done_.clear();
  return status.ok() ? below_status_ : status;
}

void CompressedCache::leave(uint32_t transfer) {
  if (--transfers_[transfer].parts > 0) return;
  done_.push_back(transfers_[transfer].ticket);
  transfers_.leave(transfer);
}

// ---- calls of the store below. None may overtake a batch, or one that is deferred, with the same slots.

bool CompressedCache::conflicts_with_batch(Slot slot, uint32_t units) const {
  for (uint32_t i = 0; i < batch_count_; i++) {
    const Batch& b = batches_[(first_batch_ + i) % kBatches];
    if (!b.done && overlap(slot, units, b.slot, b.units)) return true;
  }
  return false;
}

bool CompressedCache::conflicts(Slot slot, uint32_t units) const {
  return conflicts_with_batch(slot, units) ||
         std::any_of(deferred_.begin(), deferred_.end(),
                     [=](const Deferred& d) { return overlap(slot, units, d.slot, d.units); });
}

Status CompressedCache::put_below(Slot slot, uint32_t units, const std::byte* from, uint32_t transfer) {
  counters_.went_below += units;
  transfers_[transfer].parts++;
  if (!conflicts(slot, units)) return below_->put(slot, units, from, ticket_of(transfer));
  deferred_.push_back({slot, units, from, transfer});
  return {};
}

Status CompressedCache::start_deferred() {
  for (auto d = deferred_.begin(); d != deferred_.end();) {
    const bool waits = conflicts_with_batch(d->slot, d->units) ||
                       std::any_of(deferred_.begin(), d, [d](const Deferred& earlier) {
                         return overlap(d->slot, d->units, earlier.slot, earlier.units);
                       });
    if (waits) {
      d++;
      continue;
    }
    const Status status = d->from != nullptr ? below_->put(d->slot, d->units, d->from, ticket_of(d->transfer))
                                             : below_->release(d->slot, d->units);
    if (!status.ok()) return status;
    d = deferred_.erase(d);
  }
  return {};
}

// ---- the ring

// False: it goes below.
bool CompressedCache::keep(Slot slot, const std::byte* unit) {
  constexpr uint32_t kTries = 64, kOneIn = 16;
  if (is_uniform(unit, unit_)) {
    forget(slot);
    places_[slot] = kUniform | static_cast<uint8_t>(unit[0]);
    counters_.uniform++;
    counters_.kept_uniform++;
    return true;
  }
  if (ring_ == nullptr || (in_stream_ && no_room_)) return false;
  // Data that do not compress are tried now and then only.
  if (refused_ >= kTries && refused_++ % kOneIn != 0) return false;
  const int packed =
      LZ4_compress_default(reinterpret_cast<const char*>(unit), reinterpret_cast<char*>(packed_),
                           static_cast<int>(unit_), static_cast<int>(unit_ - unit_ / 4));
  if (packed <= 0) {
    refused_++;
    return false;
  }
  refused_ = 0;
  if (!make_room(sizeof(Record) + static_cast<uint32_t>(packed))) {
    no_room_ = true;
    return false;
  }
  append(slot, packed_, static_cast<uint32_t>(packed));
  counters_.kept_compressed++;
  return true;
}

// What the cache has of a slot is needed no more.
void CompressedCache::forget(Slot slot) {
  const Place place = places_[slot];
  if (in_ring(place)) {
    counters_.units--;
    counters_.bytes -= at((place - 1) * kGrain)->bytes;
  } else if (place != 0) {
    counters_.uniform--;
  }
  places_[slot] = 0;
}

// There is room.
void CompressedCache::append(Slot slot, const std::byte* packed, uint32_t bytes) {
  const uint32_t whole = static_cast<uint32_t>(round_up(sizeof(Record) + bytes, kGrain));
  const uint64_t to_end = capacity_ - head_ % capacity_;
  if (to_end < whole) {
    *at(head_) = {kFiller, static_cast<uint32_t>(to_end), 0, 0};
    head_ += to_end;
  }
  forget(slot);
  Record* const record = at(head_);
  *record = {slot, whole, bytes, 0};
  memcpy(record->data(), packed, bytes);
  places_[slot] = place_at(head_);
  head_ += whole;
  counters_.units++;
  counters_.bytes += whole;
  counters_.most_bytes = std::max(counters_.most_bytes, counters_.bytes);
}

// So that `bytes` can be appended, and a moved record before them, wherever the ring ends.
bool CompressedCache::make_room(uint64_t bytes) {
  int moves = kMovesOfAPut;
  while (room() < round_up(bytes, kGrain) + 3 * largest())
    if (!clean(&moves)) return false;
  // Ahead of need, for transfers take time.
  while (batch_count_ < kBatches && head_ - cleaned_ > capacity_ - capacity_ / 16 && clean(&moves)) {
  }
  return true;
}

// Looks at the oldest record that is whole. False: it must stay.
bool CompressedCache::clean(int* moves) {
  if (cleaned_ == head_) return false;
  Record* const record = at(cleaned_);
  const uint64_t position = cleaned_, bytes = record->bytes;
  if (is_live(*record, position)) {
    const bool in_use = record->wanted != 0 || counters_.bytes < capacity_ - capacity_ / 4;
    if (in_use && room() >= 2 * largest()) {
      if (--*moves < 0) return false;
      cleaned_ += bytes;
      advance_tail();
      move(*record);
      return true;
    }
    if (in_stream_ || !write_below(position)) return false;
  }
  cleaned_ += bytes;
  if (filling_) batches_[(first_batch_ + batch_count_ - 1) % kBatches].end = cleaned_;
  advance_tail();
  return true;
}

void CompressedCache::move(const Record& record) {
  const Slot slot = record.slot;
  const uint32_t bytes = record.packed;
  memcpy(moved_, record.data(), bytes);  // its place may be where it goes
  append(slot, moved_, bytes);
}

// Adds the record to the batch that is being filled, or to a new one. False: all are under way.
bool CompressedCache::write_below(uint64_t position) {
  Record* const record = at(position);
  Batch* batch = filling_ ? &batches_[(first_batch_ + batch_count_ - 1) % kBatches] : nullptr;
  if (batch != nullptr && (record->slot != batch->slot + batch->units || batch->units == batch_units_ ||
                           batch->units == below_->run_limit(batch->slot))) {
    send_batch();
    batch = nullptr;
  }
  if (conflicts(record->slot, 1)) return false;  // sent before, and put again
  if (batch == nullptr) {
    if (batch_count_ == kBatches) return false;
    const uint32_t index = (first_batch_ + batch_count_++) % kBatches;
    batch = &batches_[index];
    *batch = {position, position, record->slot, 0, buffers_ + index * batch_units_ * unit_, false};
    filling_ = true;
  }
  if (!unpack(*record, batch->buffer + batch->units * unit_)) {
    below_status_ =
        Status::error(EIO, below_->describe(record->slot) +
                               ": its compressed bytes have changed: the memory of this host is faulty");
    return false;
  }
  batch->units++;
  return true;
}

void CompressedCache::send_batch() {
  if (!filling_) return;
  filling_ = false;
  const uint32_t index = (first_batch_ + batch_count_ - 1) % kBatches;
  const Batch& batch = batches_[index];
  counters_.went_below += batch.units;
  const Status status = below_->put(batch.slot, batch.units, batch.buffer, ticket_of_batch(index));
  if (!status.ok()) below_status_ = status;
}

// What has arrived below is needed here no more, unless it was replaced meanwhile.
void CompressedCache::finish_batch(Batch* batch) {
  for (uint64_t position = batch->begin; position < batch->end; position += at(position)->bytes) {
    const Record& record = *at(position);
    if (is_live(record, position)) forget(record.slot);
  }
  batch->done = true;
  while (batch_count_ > 0 && batches_[first_batch_].done) {
    first_batch_ = (first_batch_ + 1) % kBatches;
    batch_count_--;
  }
  advance_tail();
}

void CompressedCache::advance_tail() {
  tail_ = batch_count_ > 0 ? batches_[first_batch_].begin : cleaned_;
}

bool CompressedCache::unpack(const Record& record, std::byte* to) const {
  return LZ4_decompress_safe(reinterpret_cast<const char*>(record.data()), reinterpret_cast<char*>(to),
                             static_cast<int>(record.packed),
                             static_cast<int>(unit_)) == static_cast<int>(unit_);
}

}  // namespace tasuki::pager
