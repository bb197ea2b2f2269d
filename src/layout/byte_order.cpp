#include "layout/byte_order.h"

#include <algorithm>
#include <cstring>

namespace tasuki::layout {
namespace {

// Packed and swapped while they are in the L1 cache.
constexpr uint64_t kStage = 8192;

uint64_t reversed(uint64_t size, uint64_t word) {
  switch (size) {
    case 2:
      word = __builtin_bswap64(word);
      return word << 48 | (word & 0xffff0000) << 16 | (word >> 16 & 0xffff0000) | word >> 48;
    case 4:
      word = __builtin_bswap64(word);
      return word << 32 | word >> 32;
    default:
      return __builtin_bswap64(word);
  }
}

// Eight bytes at a time, whatever the elements; the rest one by one.
template <uint64_t kSize>
void reverse(char* out, const char* in, uint64_t bytes) {
  uint64_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word;
    memcpy(&word, in + i, 8);
    word = reversed(kSize, word);
    memcpy(out + i, &word, 8);
  }
  for (; i < bytes; i += kSize) {
    char element[kSize];
    memcpy(element, in + i, kSize);
    for (uint64_t k = 0; k < kSize; k++) out[i + k] = element[kSize - 1 - k];
  }
}

void reverse(uint64_t size, char* out, const char* in, uint64_t bytes) {
  switch (size) {
    case 1:
      if (out != in) memcpy(out, in, bytes);
      return;
    case 2:
      return reverse<2>(out, in, bytes);
    case 4:
      return reverse<4>(out, in, bytes);
    default:
      return reverse<8>(out, in, bytes);
  }
}

}  // namespace

// The pattern itself in place of the number of its repetitions.
void ElementsBuilder::write_out() {
  const std::vector<ElementRun> pattern = std::move(runs_);
  const uint64_t repeats = repeats_;
  runs_.clear();
  repeats_ = 1;
  for (uint64_t i = 0; i < repeats && complete_; i++)
    for (const ElementRun& r : pattern) append(r.size, r.count);
}

void ElementsBuilder::append(uint64_t size, uint64_t count) {
  if (count == 0 || !complete_) return;
  if (repeats_ != 1) write_out();
  if (!runs_.empty() && runs_.back().size == size)
    runs_.back().count += count;
  else if (runs_.size() < kMostRuns)
    runs_.push_back({size, count});
  else
    complete_ = false;
}

void ElementsBuilder::append(const ElementsBuilder& child, uint64_t copies) {
  complete_ = complete_ && child.complete_;
  if (copies == 0 || child.runs_.empty() || !complete_) return;
  const uint64_t repeats = child.repeats_ * copies;
  if (child.runs_.size() == 1) return append(child.runs_[0].size, child.runs_[0].count * repeats);
  if (runs_.empty()) {
    runs_ = child.runs_;
    repeats_ = repeats;
    return;
  }
  for (uint64_t i = 0; i < repeats && complete_; i++)
    for (const ElementRun& r : child.runs_) append(r.size, r.count);
}

Elements ElementsBuilder::take() {
  // Of one size: a run that never ends.
  if (runs_.size() == 1) runs_[0].count = UINT64_MAX / 8;
  return {std::move(runs_)};
}

uint64_t ByteSwapper::swap(char* out, const char* in, uint64_t most) {
  uint64_t moved = 0;
  for (;;) {
    const ElementRun& r = (*runs_)[run_];
    const uint64_t n = std::min(r.count - done_, (most - moved) / r.size);
    if (n == 0) return moved;
    reverse(r.size, out + moved, in + moved, n * r.size);
    moved += n * r.size;
    done_ += n;
    if (done_ != r.count) return moved;
    done_ = 0;
    run_ = run_ + 1 == runs_->size() ? 0 : run_ + 1;
  }
}

void pack_swapped(char* out, const Region& src, const Elements& elements) {
  ByteSwapper swapper(elements);
  const uint64_t bytes = layout::bytes(src);
  char* start = nullptr;
  if (is_dense(src, &start)) {
    swapper.swap(out, start, bytes);
    return;
  }
  // An element that a stage cuts is swapped with the next stage.
  for (uint64_t packed = 0, swapped = 0; swapped < bytes;) {
    const uint64_t n = std::min(kStage, bytes - packed);
    pack(out + packed, src, packed, n);
    packed += n;
    swapped += swapper.swap(out + swapped, out + swapped, packed - swapped);
  }
}

void unpack_swapped(const Region& dst, const char* in, const Elements& elements) {
  ByteSwapper swapper(elements);
  const uint64_t bytes = layout::bytes(dst);
  char* start = nullptr;
  if (is_dense(dst, &start)) {
    swapper.swap(start, in, bytes);
    return;
  }
  alignas(64) char stage[kStage];
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t n = swapper.swap(stage, in + done, std::min(kStage, bytes - done));
    unpack(dst, done, n, stage);
    done += n;
  }
}

}  // namespace tasuki::layout
