// What tasukicc emits calls of (tasuki/compiler/local_view.h): start, puts and gets, sections.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "coarray/api/runtime.h"
#include "coarray/local/record_size.h"
#include "tasuki/compiler/local_view.h"

extern "C" {
// In every program that tasukicc linked.
extern const int tasuki_xmp_main_waits __attribute__((weak));
}

namespace tasuki::coarray {
namespace {

// What is temporary is gone behind the call, nonblock or not.
Through through(unsigned flags) {
  return (flags & (TASUKI_XMP_NONBLOCK | TASUKI_XMP_TEMPORARY)) == TASUKI_XMP_NONBLOCK ? Through::at_complete
                                                                                       : Through::at_return;
}

constexpr unsigned kDeviceFlags = TASUKI_XMP_DEVICE | TASUKI_XMP_DEVICE_LOCAL;

// Memory of this image, in a region that says that it is on the device.
void local_on_device(Place* place, Where where) {
  place->direct = runtime().coarrays.device_address(place->direct, where);
  place->device = runtime().device.apart();
}

Operand operand_of(const tasuki_xmp_section& section, Where where) {
  Operand operand;
  const bool device = (section.flags & TASUKI_XMP_DEVICE) != 0;
  std::string problem;
  if (!measure(section, &operand.extent, &problem)) fail(where, "%s", problem.c_str());
  char* base = static_cast<char*>(section.base);
  char* first = base + operand.extent.first;
  if ((section.flags & TASUKI_XMP_REMOTE) == 0) {
    operand.place.direct = first;
    if (device) [[unlikely]]
      local_on_device(&operand.place, where);
    return operand;
  }
  if (operand.extent.elements == 0) {
    runtime().teams.world_index(section.image, where, runtime().coarrays.name_of(base).c_str());
    operand.place.direct = first;
    return operand;
  }
  const auto length = static_cast<uint64_t>(operand.extent.high - operand.extent.low);
  const int64_t ahead = operand.extent.first - operand.extent.low;
  operand.place = runtime().place(base + operand.extent.low, length, section.image, where);
  if (device) [[unlikely]]
    runtime().coarrays.to_device(&operand.place, base, where);
  operand.place.offset += static_cast<uint64_t>(ahead);
  if (operand.place.direct != nullptr) operand.place.direct += ahead;
  return operand;
}

// A section in one piece of memory, from `first` bytes after its base on. False: it is none, or a closer look
// is needed.
struct Piece {
  int64_t first;
  uint64_t bytes;
};
inline bool in_one_piece(const tasuki_xmp_section& section, Piece* piece) {
  if ((section.flags & (TASUKI_XMP_CHECK | TASUKI_XMP_DEVICE)) != 0) return false;
  if (section.dimensions < 0 || section.dimensions > kMostDimensions) return false;
  piece->bytes = section.element;
  piece->first = 0;
  for (int i = section.dimensions; i-- > 0;) {
    const tasuki_xmp_dimension& d = section.dimension[i];
    if (d.length < 1 || d.stride == 0) return false;
    if (d.length > 1 && (d.stride != 1 || d.bytes != piece->bytes)) return false;
    piece->first += d.lower * static_cast<int64_t>(d.bytes);
    piece->bytes *= static_cast<uint64_t>(d.length);
  }
  return true;
}

// The transfer of one piece to or from another image; false: it is something else.
bool copy_piece(const tasuki_xmp_section& to, const tasuki_xmp_section& from, unsigned flags, Where where) {
  Piece there, here;
  if (to.element != from.element || ((to.flags ^ from.flags) & TASUKI_XMP_REMOTE) == 0 ||
      !in_one_piece(to, &there) || !in_one_piece(from, &here) || there.bytes != here.bytes)
    return false;
  Runtime& r = runtime();
  char *target = static_cast<char*>(to.base) + there.first,
       *source = static_cast<char*>(from.base) + here.first;
  if ((to.flags & TASUKI_XMP_REMOTE) != 0)
    r.transfers.put(r.place(target, there.bytes, to.image, where), source, there.bytes, through(flags));
  else
    r.transfers.get(target, r.place(source, there.bytes, from.image, where), there.bytes, through(flags));
  return true;
}

// A put or get that names device memory at one end or both.
void transfer_by_flags(void* local, const void* coarray, size_t bytes, int image, unsigned flags,
                       Direction direction, Where where) {
  Runtime& r = runtime();
  Operand here, there;
  for (Operand* operand : {&here, &there}) {
    operand->extent.shape.block = bytes;
    operand->extent.elements = 1;
    operand->extent.high = static_cast<int64_t>(bytes);
  }
  there.place = r.place(coarray, bytes, image, where);
  if ((flags & TASUKI_XMP_DEVICE) != 0) r.coarrays.to_device(&there.place, coarray, where);
  here.place.direct = static_cast<char*>(local);
  if ((flags & TASUKI_XMP_DEVICE_LOCAL) != 0) local_on_device(&here.place, where);
  if (direction == Direction::put)
    r.transfers.copy(there, here, through(flags));
  else
    r.transfers.copy(here, there, through(flags));
}

}  // namespace
}  // namespace tasuki::coarray

using namespace tasuki::coarray;

#define EXPORT __attribute__((visibility("default")))

EXPORT void tasuki_xmp_register(tasuki_xmp_coarray* const* begin, tasuki_xmp_coarray* const* end) {
  for (tasuki_xmp_coarray* const* entry = begin; entry != end; entry++) {
    tasuki_xmp_coarray* record = *entry;
    if (record == nullptr) continue;
    check_size(*record);
    if (&tasuki_xmp_main_waits == nullptr) {
      fprintf(
          stderr,
          "%s:%d: error: the coarray '%s': this program was compiled, but not linked by tasukicc, and starts "
          "without its coarrays; link it with: tasukicc objects -o program\n",
          record->file, record->line, record->name);
      exit(1);
    }
    runtime().coarrays.add(record);
  }
}

EXPORT void tasuki_xmp_register_nodes(tasuki_xmp_nodes* const* begin, tasuki_xmp_nodes* const* end) {
  for (tasuki_xmp_nodes* const* entry = begin; entry != end; entry++) {
    if (*entry == nullptr) continue;
    check_size(**entry);
    runtime().add(*entry);
  }
}

EXPORT void tasuki_xmp_nodes_define(const tasuki_xmp_nodes* nodes) {
  check_size(*nodes);
  runtime().phase.require_start("a node array");
  runtime().teams.nodes(*nodes);
}

EXPORT void tasuki_xmp_first_image(int first, const char* file) {
  runtime().teams.set_first_image(first, file);
}

EXPORT int tasuki_xmp_main_begin(int* argc, char*** argv) {
  runtime().start(argc, argv, true);
  return 0;
}

EXPORT int tasuki_xmp_mpi_init(void) {
  return 0;
}

EXPORT int tasuki_xmp_mpi_init_thread(int* provided) {
  return PMPI_Query_thread(provided);
}

EXPORT int tasuki_xmp_mpi_finalize(void) {
  return 0;
}

EXPORT void tasuki_xmp_put(void* to, const void* from, size_t bytes, int image, unsigned flags,
                           const char* file, int line) {
  const Where where = {file, line};
  if ((flags & kDeviceFlags) != 0) [[unlikely]]
    return transfer_by_flags(const_cast<void*>(from), to, bytes, image, flags, Direction::put, where);
  Runtime& r = runtime();
  const Place place = r.place(to, bytes, image, where);
  r.transfers.put(place, from, bytes, through(flags));
}

EXPORT void* tasuki_xmp_get(void* to, const void* from, size_t bytes, int image, unsigned flags,
                            const char* file, int line) {
  const Where where = {file, line};
  if ((flags & kDeviceFlags) != 0) [[unlikely]] {
    transfer_by_flags(to, from, bytes, image, flags, Direction::get, where);
    return to;
  }
  Runtime& r = runtime();
  const Place place = r.place(from, bytes, image, where);
  r.transfers.get(to, place, bytes, through(flags));
  return to;
}

EXPORT void* tasuki_xmp_device_address(const void* p) {
  return runtime().coarrays.device_address(p, {nullptr, 0});
}

EXPORT int tasuki_xmp_image(const char* name, int count, const int* extents, const int* subscripts,
                            const char* file, int line) {
  const int first = runtime().teams.first_image();
  long long number = 0, factor = 1;
  for (int i = 0; i < count; i++) {
    const int from_zero = subscripts[i] - first;
    if (from_zero < 0 || (i + 1 < count && from_zero >= extents[i])) {
      if (i + 1 < count)
        fail({file, line}, "codimension %d of '%s' has images %d to %d; %d was named", i + 1, name, first,
             first + extents[i] - 1, subscripts[i]);
      fail({file, line}, "codimension %d of '%s' begins at %d; %d was named", i + 1, name, first,
           subscripts[i]);
    }
    number += from_zero * factor;
    if (i + 1 < count) factor *= extents[i];
  }
  if (number > INT_MAX - 1) number = INT_MAX - 1;
  return static_cast<int>(number) + first;
}

EXPORT ptrdiff_t tasuki_xmp_index(ptrdiff_t index, size_t extent, int dimension, const char* name,
                                  const char* file, int line) {
  if (index < 0 || static_cast<size_t>(index) >= extent) [[unlikely]]
    fail({file, line}, "dimension %d of '%s' goes from 0 to %lld; element %lld was named", dimension + 1,
         name, static_cast<long long>(extent) - 1, static_cast<long long>(index));
  return index;
}

EXPORT void tasuki_xmp_copy(const tasuki_xmp_section* to, const tasuki_xmp_section* from, unsigned flags,
                            const char* file, int line) {
  const Where where = {file, line};
  if (copy_piece(*to, *from, flags, where)) return;
  const Operand target = operand_of(*to, where);
  const Operand source = operand_of(*from, where);
  if (to->element != from->element)
    fail(where, "elements of %zu bytes are assigned to elements of %zu bytes", from->element, to->element);
  Transfers& transfers = runtime().transfers;
  if (from->dimensions == 0 && to->dimensions > 0) {
    std::string value(from->element, '\0');
    const char* here = source.place.direct;
    if (here == nullptr || source.place.device) {
      transfers.copy(dense_operand(value.data(), from->element), source, Through::at_return);
      here = value.data();
    }
    return transfers.fill(target, here, from->element);
  }
  if (target.extent.elements != source.extent.elements)
    fail(where,
         "%llu elements of '%s' are assigned to %llu elements of '%s'; both sections must have equally many",
         static_cast<unsigned long long>(source.extent.elements), from->name == nullptr ? "" : from->name,
         static_cast<unsigned long long>(target.extent.elements), to->name == nullptr ? "" : to->name);
  transfers.copy(target, source, through(flags));
}

EXPORT size_t tasuki_xmp_elements(const tasuki_xmp_section* section, const char* file, int line) {
  Extent extent;
  std::string problem;
  if (!measure(*section, &extent, &problem)) fail({file, line}, "%s", problem.c_str());
  return extent.elements;
}

EXPORT void tasuki_xmp_same(size_t elements, size_t expected, const char* what, const char* file, int line) {
  if (elements != expected)
    fail({file, line},
         "'%s' has %zu elements where %zu are wanted; all sections of an assignment must have equally many",
         what, elements, expected);
}

EXPORT void* tasuki_xmp_temporary(size_t elements, size_t element, const char* file, int line) {
  size_t bytes = 0;
  void* memory = nullptr;
  if (!__builtin_mul_overflow(elements, element, &bytes) && bytes <= SIZE_MAX - 64)
    memory = aligned_alloc(64, (bytes / 64 + 1) * 64);
  if (memory == nullptr) fail({file, line}, "no memory for an intermediate array of %zu elements", elements);
  return memory;
}

EXPORT void tasuki_xmp_release(void* temporary) {
  free(temporary);
}

EXPORT void tasuki_xmp_wait_nonblock(int local, const char*, int) {
  if (local != 0)
    runtime().transfers.complete_local();
  else
    runtime().transfers.complete();
}
