#include "task/segment.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"
#include "os/process/process.h"
#include "os/process/self.h"

namespace tasuki::task {
namespace {

constexpr uint64_t kSegmentMagic = 0x31676573'70734b54;  // "TKspseg1"
constexpr uint64_t kGiB = uint64_t{1} << 30;

struct SegmentHead {
  uint64_t magic;
  uint32_t version;
  std::atomic<uint32_t> place;  // 1 + the one of kPlaces that the first process has chosen; 0: none has come
};

// Where programs, libraries, stacks, heaps and the shadow memory of AddressSanitizer are not, on processors
// with 47 and 48 bits of address space; the last one for kernels that give only 39.
struct Place {
  uint64_t base;
  uint64_t most_bytes, most_slice;
};
constexpr Place kPlaces[] = {{0x3000'0000'0000, 8192 * kGiB, 16 * kGiB},
                             {0x2000'0000'0000, 8192 * kGiB, 16 * kGiB},
                             {0x30'0000'0000, 128 * kGiB, kGiB}};

uint64_t space_offset() {
  return os::page_ceil(sizeof(SegmentHead));
}
uint64_t head_bytes(uint64_t ranks) {
  return space_offset() + os::page_ceil(sizeof(Space) + ranks * sizeof(TaskSlot));
}
Space* space_in(SegmentHead* head) {
  return reinterpret_cast<Space*>(reinterpret_cast<char*>(head) + space_offset());
}
uint64_t slice_at(const Place& place, uint64_t ranks) {
  return std::min(place.most_slice, place.most_bytes / ranks) / os::kLargestPage * os::kLargestPage;
}
uint64_t bytes_at(const Place& place, uint64_t ranks) {
  return head_bytes(ranks) + ranks * slice_at(place, ranks);
}

// Maps it where the first process has; or as the first.
const Place* map_at_its_place(SegmentHead* seen, int file, uint64_t ranks) {
  const auto map = [&](const Place& place) {
    return os::map_memory_file_at(reinterpret_cast<void*>(place.base), file, bytes_at(place, ranks));
  };
  for (uint32_t i = 0; i < std::size(kPlaces); i++) {
    uint32_t chosen = seen->place.load(std::memory_order_acquire);
    if (chosen != 0) return map(kPlaces[chosen - 1]) ? &kPlaces[chosen - 1] : nullptr;
    if (!map(kPlaces[i])) continue;
    if (seen->place.compare_exchange_strong(chosen, i + 1)) return &kPlaces[i];
    if (chosen == i + 1) return &kPlaces[i];
    os::unmap(reinterpret_cast<void*>(kPlaces[i].base), bytes_at(kPlaces[i], ranks));
    return map(kPlaces[chosen - 1]) ? &kPlaces[chosen - 1] : nullptr;
  }
  return nullptr;
}

}  // namespace

Result<os::Fd> make_segment(uint32_t ranks) {
  uint64_t most = 0;
  for (const Place& place : kPlaces) most = std::max(most, bytes_at(place, ranks));
  Result<os::Fd> file = os::memory_file(most);
  if (!file.ok()) return file;
  void* memory = os::map_memory_file(file.value().get(), head_bytes(ranks));
  if (memory == nullptr) return Status::error(errno, "cannot map a segment");
  SegmentHead* head = new (memory) SegmentHead{};
  head->magic = kSegmentMagic;
  head->version = kSpaceVersion;
  Space* space = new (space_in(head)) Space{};
  space->magic = kSpaceMagic;
  space->version = kSpaceVersion;
  space->task_count = space->job_task_count = ranks;
  os::unmap(memory, head_bytes(ranks));
  return file;
}

std::string name_segment(const os::Fd& segment, uint32_t index) {
  os::keep_at_exec(segment.get());
  return std::to_string(os::pid_of_self()) + " " + std::to_string(segment.get()) + " " +
         std::to_string(index);
}

bool has_room_for_segment() {
  return os::limit_of_self(os::Limit::address_space).soft == os::kUnlimited;
}

Seat take_seat() {
  const char* text = getenv(kSeatVariable);
  int pid = 0, number = -1;
  unsigned index = 0;
  if (text == nullptr || sscanf(text, "%d %d %u", &pid, &number, &index) != 3 || pid != os::pid_of_self())
    return {};
  // The program may have closed it, and have another file by that number.
  SegmentHead head{};
  if (os::read_at(number, &head, sizeof head, 0) != 0 || head.magic != kSegmentMagic) return {};
  const os::Fd file(number);
  Space space{};
  if (head.version != kSpaceVersion || os::read_at(number, &space, sizeof space, space_offset()) != 0 ||
      index >= space.task_count || !has_room_for_segment())
    return {};
  const uint64_t ranks = space.task_count;
  void* seen = os::map_memory_file(file.get(), head_bytes(ranks));
  if (seen == nullptr) return {};
  const Place* place = map_at_its_place(static_cast<SegmentHead*>(seen), file.get(), ranks);
  os::unmap(seen, head_bytes(ranks));
  if (place == nullptr) return {};
  Space* shared = space_in(reinterpret_cast<SegmentHead*>(place->base));
  TaskSlot* slot = &shared->tasks()[index];
  int32_t nobody = 0;
  if (!slot->pid.compare_exchange_strong(nobody,
                                         os::pid_of_self())) {  // a launcher that counts in its own way
    os::unmap(reinterpret_cast<void*>(place->base), bytes_at(*place, ranks));
    return {};
  }
  os::keep_out_of_core_files(reinterpret_cast<void*>(place->base), bytes_at(*place, ranks));
  slot->space = shared;
  slot->index = index;
  os::current_cpu_set(&slot->cores);
  const uint64_t slice = slice_at(*place, ranks);
  return {slot, reinterpret_cast<char*>(place->base + head_bytes(ranks) + index * slice), slice};
}

}  // namespace tasuki::task
