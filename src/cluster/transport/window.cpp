#include "cluster/transport/window.h"

#include <cstring>

#include "base/cpu.h"
#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"

namespace tasuki::cluster {
namespace {

// A page that leaves is not read again soon: written past the caches it does not push out what the program
// uses. `bytes` is a multiple of 4096, `to` of a page.
void stream_out(std::byte* to, const std::byte* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) stream_line(to + i, from + i);
}

size_t bitmap_bytes(uint64_t slots) {
  return os::page_ceil((slots + 63) / 64 * 8 + 1);
}

}  // namespace

Result<std::unique_ptr<WindowMemory>> WindowMemory::create(os::Fd file, size_t unit_bytes, uint64_t slots) {
  void* memory = os::map_memory_file(file.get(), slots * unit_bytes);
  void* present = memory == nullptr ? nullptr : os::map_memory(bitmap_bytes(slots));
  if (present == nullptr) {
    const int err = errno;
    if (memory != nullptr) os::unmap(memory, slots * unit_bytes);
    return Status::error(err, std::string("mapping the memory of a server: ") + strerror(err));
  }
  return std::unique_ptr<WindowMemory>(new WindowMemory(
      std::move(file), unit_bytes, slots, static_cast<std::byte*>(memory), static_cast<uint64_t*>(present)));
}

WindowMemory::~WindowMemory() {
  os::unmap(memory_, slots_ * unit_);
  os::unmap(present_, bitmap_bytes(slots_));
}

void WindowMemory::get(uint64_t slot, uint32_t units, std::byte* to, CopyTeam* team) const {
  const std::byte* from = memory_ + slot * unit_;
  team->run(units * unit_,
            [to, from](size_t first, size_t end) { memcpy(to + first, from + first, end - first); });
}

Status WindowMemory::put(uint64_t slot, uint32_t units, const std::byte* from, CopyTeam* team) {
  for (uint32_t i = 0; i < units;) {
    const bool has_memory = present(slot + i);
    uint32_t n = 1;
    while (i + n < units && present(slot + i + n) == has_memory) n++;
    const std::byte* source = from + i * unit_;
    const size_t offset = (slot + i) * unit_;
    if (has_memory) {
      std::byte* const to = memory_ + offset;
      team->run(n * unit_, [to, source](size_t first, size_t end) {
        stream_out(to + first, source + first, end - first);
        finish_streams();
      });
    } else {
      // A store through the mapping could not report that there is no memory: it would kill.
      const int err = os::write_at(file_.get(), source, n * unit_, offset);
      if (err != 0)
        return Status::error(err, std::string("no memory for a page of a server on this host: ") +
                                      strerror(err) + "; lend less (--memory, -f)");
      for (uint64_t s = slot + i; s < slot + i + n; s++) word(s).fetch_or(bit(s), std::memory_order_relaxed);
    }
    i += n;
  }
  return {};
}

void WindowMemory::release(uint64_t slot, uint64_t units) {
  if (!os::punch_hole(file_.get(), slot * unit_, units * unit_)) return;  // it keeps its memory, and its bits
  for (uint64_t s = slot; s < slot + units;) {
    if (s % 64 == 0 && slot + units - s >= 64) {
      word(s).store(0, std::memory_order_relaxed);
      s += 64;
    } else {
      word(s).fetch_and(~bit(s), std::memory_order_relaxed);
      s++;
    }
  }
}

}  // namespace tasuki::cluster
