#include "coarray/access/coarrays.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace tasuki::coarray {
namespace {

constexpr uint64_t kUsualAlignment = 64;
constexpr const char* kAllocated = "an allocated coarray";

// The pointer of a coarray, whatever its type: all pointers to objects have one representation here.
void* value_of(const tasuki_xmp_coarray* record) {
  void* value = nullptr;
  memcpy(&value, record->pointer, sizeof value);
  return value;
}

uint64_t up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// The same in all images of one program.
uint64_t fingerprint(const std::vector<tasuki_xmp_coarray*>& records) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const tasuki_xmp_coarray* record : records) {
    const uint64_t bytes = record->bytes;
    XXH3_64bits_update(&state, &bytes, sizeof bytes);
    if (record->name != nullptr) XXH3_64bits_update(&state, record->name, strlen(record->name) + 1);
  }
  return XXH3_64bits_digest(&state);
}

}  // namespace

void Coarrays::add(tasuki_xmp_coarray* record) {
  if (record->state[1] != nullptr) return;
  record->state[1] = record;
  if (phase_.running())
    fail({record->file, record->line},
         "the coarray '%s' is in a library that was loaded after the start of the program; coarrays of file "
         "scope get their memory in all images together, at the start: link the library with the program",
         record->name);
  records_.push_back(record);
}

// All coarrays of file scope in one segment, and those with device memory in another, which is returned.
// Memory first, then what is known, then what needs the addresses.
Segment* Coarrays::start() {
  std::vector<Known> all;
  std::map<void*, size_t> known;
  for (tasuki_xmp_coarray* record : records_) {
    if (record->pointer == nullptr) continue;
    const auto [entry, fresh] = known.try_emplace(record->pointer, all.size());
    if (fresh) all.push_back({.record = record});
    Known& coarray = all[entry->second];
    coarray.bytes = std::max<uint64_t>(coarray.bytes, record->bytes);
    coarray.alignment = std::max<uint64_t>(coarray.alignment, record->alignment);
    coarray.device = coarray.device || (record->flags & TASUKI_XMP_DEVICE) != 0;
  }
  if (!alike(teams_.world(), fingerprint(records_)))
    fail({nullptr, 0}, "the images have different coarrays: all must run the same program");
  place_in_segment(all, false);
  Segment* mirrored = place_in_segment(all, true);
  for (const tasuki_xmp_coarray* record : records_)
    if (record->image != nullptr) memcpy(value_of(record), record->image, record->image_bytes);
  for (const tasuki_xmp_coarray* record : records_)
    if (record->compute != nullptr) record->compute();
  return mirrored;
}

// Those with device memory, or those without.
Segment* Coarrays::place_in_segment(const std::vector<Known>& all, bool mirrored) {
  uint64_t total = 0, alignment = kUsualAlignment;
  std::vector<std::pair<void*, uint64_t>> places;
  for (const Known& coarray : all) {
    if (coarray.device != mirrored) continue;
    const uint64_t own = std::max(coarray.alignment, kUsualAlignment), at = up(total, own);
    places.emplace_back(coarray.record->pointer, at);
    total = at + std::max<uint64_t>(coarray.bytes, 1);
    alignment = std::max(alignment, own);
  }
  if (total == 0) return nullptr;
  Segment* segment = memory_.allocate(teams_.world(), total, alignment);
  if (segment == nullptr)
    fail({nullptr, 0},
         "no memory for %llu bytes of coarrays in each image; the largest may be allocated in parts "
         "(xmp_comalloc), or more hosts be used",
         static_cast<unsigned long long>(total));
  for (const auto& [pointer, offset] : places) {
    void* at = segment->begin + offset;
    memcpy(pointer, &at, sizeof at);
  }
  return segment;
}

std::string Coarrays::name_of(const void* p) const {
  for (const tasuki_xmp_coarray* record : records_) {
    if (record->pointer == nullptr) continue;
    const char* begin = static_cast<const char*>(value_of(record));
    const char* at = static_cast<const char*>(p);
    if (at >= begin && at < begin + record->bytes) return "the coarray '" + std::string(record->name) + "'";
  }
  return kAllocated;
}

void* Coarrays::allocate(uint64_t bytes, bool on_device, Where where) {
  const Team& team = teams_.current();
  if (!alike(team, bytes))
    fail(where,
         "the images ask for different sizes of one coarray: %llu bytes here; allocate the largest in all",
         static_cast<unsigned long long>(bytes));
  Segment* segment = memory_.allocate(team, bytes, kUsualAlignment);
  if (segment == nullptr)
    fail(where, "no memory for a coarray of %llu bytes in each image",
         static_cast<unsigned long long>(bytes));
  if (on_device) mirror(segment);
  return segment->begin;
}

void Coarrays::release(void* p, Where where) {
  if (p == nullptr) return;
  const auto& all = memory_.segments();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s->begin == p; });
  if (found == all.end() || name_of(p) != kAllocated)
    fail(where, "xmp_cofree: %p is not what xmp_comalloc has returned", p);
  release(found->get());
}

void Coarrays::release(Segment* segment) {
  transfers_.complete();
  // Releasing is collective, and one that has left main, such as by exit() in a task, takes no part any more.
  if (sync_.barrier(*segment->team) != 0) return;
  device_.unmirror(segment, &memory_);
  device_.forget(segment->begin, segment->bytes);
  memory_.release(segment);
}

Place Coarrays::distant_place(const void* p, uint64_t bytes, int image, const Where& where) {
  const Team& team = teams_.current();
  const int index = teams_.current_index(image);
  const std::string who =
      teams_.is_elsewhere(image) ? "an image of its node array" : "image " + std::to_string(image);
  Segment* segment = memory_.find(p, bytes);
  if (segment == nullptr) {
    phase_.require_start("a reference to another image");
    if (memory_.find(p, 0) != nullptr)
      fail(where, "the reference to %s reaches beyond the end of %s", who.c_str(), name_of(p).c_str());
    fail(where,
         "the reference to %s is to memory that is no coarray; only coarrays of file scope and memory "
         "of xmp_comalloc can be reached from other images",
         who.c_str());
  }
  const int rank = index >= 0 ? team.ranks[static_cast<size_t>(index)]
                              : teams_.rank_elsewhere(image, name_of(p).c_str(), where);
  const int target = segment->team->index[static_cast<size_t>(rank)];
  if (target < 0)
    fail(where, "%s has no part of this coarray, which was allocated in a task of other images", who.c_str());
  return place_of(segment, target, p);
}

void Coarrays::to_device(Place* place, const void* p, Where where) const {
  const Mirror* mirror = place->segment->mirror.get();
  if (mirror == nullptr)
    fail(where, "%s has no device memory; write #pragma acc declare create(name) behind its declaration",
         name_of(p).c_str());
  if (!device_.apart()) return;
  char* direct = mirror->direct[static_cast<size_t>(place->target)];
  place->direct = direct != nullptr ? direct + place->offset : nullptr;
  place->device = true;
}

char* Coarrays::device_address(const void* p, Where where) {
  Segment* segment = memory_.find(p, 0);
  if (segment == nullptr) return static_cast<char*>(const_cast<void*>(p));
  // Clauses of OpenACC may have put a distributed array there; coarrays of file scope have a mirror, or no
  // device memory.
  if (segment->mirror == nullptr && name_of(p) == kAllocated) {
    char* copy = device_.apart() ? device_copy(p, 1) : static_cast<char*>(const_cast<void*>(p));
    if (copy != nullptr) return copy;
  }
  Place place = place_of(segment, segment->team->me, p);
  to_device(&place, p, where);
  return place.direct;
}

}  // namespace tasuki::coarray
