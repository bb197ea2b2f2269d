// A store in front of another one: units that are put are kept compressed (LZ4) in this host's memory, and go
// on to the store below when others need the room. Units of which all bytes are the same take no room at all,
// and never go there.
//
// The memory is one ring of records, oldest first. Room is made at its old end: a record that was replaced
// or released is passed over; one that was asked for since it was written, or any as long as little of the
// ring is in use, is written again at the new end; the others are put below, neighbours in one transfer. What
// finds no room, or does not get shorter by a quarter, goes below at once, and so does a long run for which
// others would have to leave: streams are what the store below is good at. Every slot has its place below, so
// nothing depends on how well the program's data compress.
//
// Memory as own_memory.h says. All calls by the pager's thread.
#pragma once

#include <array>
#include <memory>

#include "pager/stores/numbered.h"
#include "pager/stores/store.h"

namespace tasuki::pager {

class CompressedCache final : public Store {
 public:
  struct Counters {
    uint64_t units = 0, uniform = 0;                 // kept now: compressed, and of one byte only
    uint64_t bytes = 0, most_bytes = 0;              // that the compressed ones take, and took at most
    uint64_t kept_compressed = 0, kept_uniform = 0;  // units that were put and kept, if only for a time
    uint64_t went_below = 0;                         // units that were put below, at once or later
    uint64_t hits = 0, misses = 0;  // units that were asked for, and came from here or from below
  };

  // `below` outlives it. With 0 bytes it keeps units of one byte only. EINVAL: too few bytes; ENOMEM: no
  // addresses.
  static Result<std::unique_ptr<CompressedCache>> create(Store* below, uint64_t bytes);
  ~CompressedCache() override;
  CompressedCache(const CompressedCache&) = delete;
  CompressedCache& operator=(const CompressedCache&) = delete;

  size_t unit_bytes() const override { return unit_; }
  uint64_t slots() const override { return below_->slots(); }
  uint64_t reserved() const override { return below_->reserved(); }
  Status reserve(uint64_t slots) override;
  uint64_t part_end(Slot slot) const override { return below_->part_end(slot); }
  uint64_t run_limit(Slot slot) const override { return below_->run_limit(slot); }
  Status get(Slot slot, uint32_t units, std::byte* to, Ticket ticket) override;
  Status put(Slot slot, uint32_t units, const std::byte* from, Ticket ticket) override;
  bool read_aside(Slot slot, uint32_t units, std::byte* to) const override;
  bool can_read_aside() const override { return below_->can_read_aside(); }
  Status release(Slot slot, uint32_t units) override;
  // EIO: a record is not what was written (memory that fails).
  Status progress(Tickets* completed) override;
  bool busy() const override { return !done_.empty() || !deferred_.empty() || below_->busy(); }
  bool settled() const override { return done_.empty() && deferred_.empty() && below_->settled(); }
  int descriptor() const override { return done_.empty() ? below_->descriptor() : -1; }
  int longest_rest_ms() const override { return below_->longest_rest_ms(); }
  std::string describe(Slot slot) const override { return below_->describe(slot); }

  uint64_t capacity() const { return capacity_; }
  const Counters& counters() const { return counters_; }

 private:
  // Where a slot's contents are: 0: below; from kUniform on: nowhere, all bytes are the last eight bits; else
  // in the record at (place - 1) * kGrain.
  using Place = uint32_t;
  static constexpr Place kUniform = 0xffffff00;
  static constexpr uint64_t kGrain = 64;
  static constexpr Slot kFiller = UINT64_MAX;  // up to the end of the ring

  struct Record {
    Slot slot;
    uint32_t bytes;                    // of the whole record, a multiple of kGrain
    uint32_t packed : 31, wanted : 1;  // bytes behind this; was it asked for?
    std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* data() const { return reinterpret_cast<const std::byte*>(this + 1); }
  };
  struct Transfer {  // a caller's
    Ticket ticket;
    uint32_t parts;
  };
  // Records from `begin` to `end` that go below: those of the slots [slot, slot + units), through `buffer`.
  struct Batch {
    uint64_t begin, end;
    Slot slot;
    uint32_t units;
    std::byte* buffer;
    bool done;
  };
  struct Deferred {  // a call of the store below that waits for a batch
    Slot slot;
    uint32_t units;
    const std::byte* from;  // nullptr: release
    uint32_t transfer;
  };
  static constexpr uint32_t kBatches = 4;

  CompressedCache(Store* below, uint64_t capacity);
  Record* at(uint64_t position) const { return reinterpret_cast<Record*>(ring_ + position % capacity_); }
  Place place_at(uint64_t position) const { return static_cast<Place>(position % capacity_ / kGrain + 1); }
  bool is_live(const Record& record, uint64_t position) const {
    return record.slot != kFiller && places_[record.slot] == place_at(position);
  }
  static bool in_ring(Place place) { return place != 0 && place < kUniform; }
  uint64_t room() const { return capacity_ - (head_ - tail_); }
  uint64_t largest() const { return sizeof(Record) + unit_ + kGrain; }

  bool keep(Slot slot, const std::byte* unit);
  void forget(Slot slot);
  void append(Slot slot, const std::byte* packed, uint32_t bytes);
  bool make_room(uint64_t bytes);
  bool clean(int* moves);
  void move(const Record& record);
  bool write_below(uint64_t position);
  void send_batch();
  void finish_batch(Batch* batch);
  void advance_tail();
  bool unpack(const Record& record, std::byte* to) const;

  bool conflicts_with_batch(Slot slot, uint32_t units) const;
  bool conflicts(Slot slot, uint32_t units) const;
  Status put_below(Slot slot, uint32_t units, const std::byte* from, uint32_t transfer);
  Status start_deferred();
  void leave(uint32_t transfer);

  Store* const below_;
  const size_t unit_;
  const uint64_t capacity_;
  std::byte* ring_ = nullptr;
  Place* places_ = nullptr;
  std::byte *packed_ = nullptr, *moved_ = nullptr;  // one packed unit each
  std::byte* buffers_ = nullptr;                    // of the batches
  uint32_t batch_units_;
  // Positions in the ring, counted on for ever. [tail, cleaned) waits for batches, [cleaned, head) is whole.
  uint64_t tail_ = 0, cleaned_ = 0, head_ = 0;
  std::array<Batch, kBatches> batches_{};
  uint32_t first_batch_ = 0, batch_count_ = 0;
  bool filling_ = false;  // the last batch takes more units, and is not sent yet
  bool in_stream_ = false,
       no_room_ = false;  // of the put that is carried out: nothing leaves for it; it is full
  Status below_status_;   // of transfers that were not a caller's
  uint32_t refused_ = 0;  // units that did not get shorter, one after the other
  Numbered<Transfer> transfers_;
  OwnDeque<Deferred> deferred_;
  Tickets done_, from_below_;
  Counters counters_;
};

}  // namespace tasuki::pager
