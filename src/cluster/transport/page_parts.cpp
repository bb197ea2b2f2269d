#include "cluster/transport/page_parts.h"

#include <bit>
#include <cstring>

namespace tasuki::cluster {

size_t PageParts::bytes_to_cut(uint32_t pages) const {
  return (code_->parts() - (pages == 1 ? code_->needed() : 0)) * pages * part_;
}

void PageParts::cut(const std::byte* from, uint32_t pages, std::byte* buffer, const std::byte** parts) const {
  const uint32_t needed = code_->needed();
  const size_t bytes = pages * part_;
  for (uint32_t part = 0; part < needed; part++) {
    if (pages == 1) {
      parts[part] = from + part * part_;
      continue;
    }
    for (uint32_t page = 0; page < pages; page++)
      memcpy(buffer + page * part_, from + page * page_ + part * part_, part_);
    parts[part] = buffer;
    buffer += bytes;
  }
  std::byte* computed[Redundancy::kMostCopies];
  for (uint32_t part = needed; part < code_->parts(); part++) {
    parts[part] = computed[part - needed] = buffer;
    buffer += bytes;
  }
  code_->encode(bytes, parts, computed);
}

size_t PageParts::bytes_to_join(uint32_t pages, uint32_t have) const {
  if (pages > 1) return (code_->needed() + 1) * pages * part_;  // the last one: for what is computed
  return static_cast<size_t>(std::popcount(have >> code_->needed())) * part_;
}

void PageParts::lay_out(std::byte* to, uint32_t pages, uint32_t have, std::byte* buffer,
                        std::byte** parts) const {
  for (uint32_t part = 0; part < code_->parts(); part++) {
    if ((have >> part & 1) == 0) continue;
    if (pages == 1 && part < code_->needed()) {
      parts[part] = to + part * part_;
      continue;
    }
    parts[part] = buffer;
    buffer += pages * part_;
  }
}

void PageParts::spread(const std::byte* from, uint32_t part, uint32_t pages, std::byte* to) const {
  for (uint32_t page = 0; page < pages; page++)
    memcpy(to + page * page_ + part * part_, from + page * part_, part_);
}

void PageParts::join(std::byte* to, uint32_t pages, uint32_t have, std::byte* buffer) const {
  const uint32_t needed = code_->needed();
  const size_t bytes = pages * part_;
  std::byte* parts[Redundancy::kMostCopies];
  lay_out(to, pages, have, buffer, parts);
  ReedSolomon::Parts numbers = {};
  const std::byte* from[Redundancy::kMostNeeded];
  for (uint32_t part = 0, n = 0; part < code_->parts(); part++) {
    if ((have >> part & 1) == 0) continue;
    numbers[n] = static_cast<uint8_t>(part);
    from[n++] = parts[part];
  }
  for (uint32_t part = 0; part < needed; part++) {
    const bool there = (have >> part & 1) != 0;
    std::byte* const computed = pages == 1 ? to + part * part_ : buffer + needed * bytes;
    if (!there) code_->compute(part, bytes, numbers, from, computed);
    if (pages > 1) spread(there ? parts[part] : computed, part, pages, to);
  }
}

}  // namespace tasuki::cluster
