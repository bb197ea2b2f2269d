// What tasukicc emits calls of (tasuki/compiler/dlm_arrays.h), on top of dlm.h's functions.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "base/bytes.h"
#include "base/struct_size.h"
#include "tasuki/compiler/dlm_arrays.h"
#include "tasuki/dlm.h"

extern "C" {
// In every program that tasukicc linked (program_main.c).
extern const int tasuki_dlm_main_waits __attribute__((weak));
}

namespace tasuki::cluster {
namespace {

using Record = tasuki_dlm_array;

constexpr size_t kUsualAlignment = 64;  // dlm_alloc's own
// What each record has at least. This number stays: what is appended to the record later is not in all of
// them, and is read where `struct_size` says that it is there.
constexpr size_t kFirstVersion = 96;

std::mutex mutex;
// Records that have no memory yet, in the order of their registration; linked by state[0]. state[1] marks
// what is registered.
Record* first = nullptr;
Record* last = nullptr;

Record* next_of(const Record* record) {
  return static_cast<Record*>(record->state[0]);
}

// Before anything else of the record is read.
void check_size(const Record* record) {
  const size_t size = record->struct_size;
  if (is_struct_size(size, kFirstVersion, alignof(Record))) return;
  const std::string error = struct_size_error("a dlm array", record, size, kFirstVersion, alignof(Record));
  fprintf(stderr, "tasuki: %s\n", error.c_str());
  exit(1);
}

void append(Record* record) {
  record->state[0] = nullptr;
  record->state[1] = record;
  if (first == nullptr)
    first = record;
  else
    last->state[0] = record;
  last = record;
}

// The pointer of an array, whatever its type: all pointers to objects have one representation here.
void* value_of(const Record* record) {
  void* value = nullptr;
  memcpy(&value, record->pointer, sizeof value);
  return value;
}

bool started() {
  dlm_counters counters;
  return dlm_stats(&counters, sizeof counters) == 0;
}

bool complain(const Record* record, int error) {
  const std::string size = bytes_text(record->bytes, BytesStyle::rounded);
  if (error == ENOMEM)
    fprintf(stderr,
            "%s:%zu: dlm array '%s' of %s: no more memory in the cluster; start more ranks (mpirun -n N), or "
            "let them "
            "lend more memory (./program arguments -- -f memfile)\n",
            record->file, record->line, record->name, size.c_str());
  else
    fprintf(stderr, "%s:%zu: dlm array '%s' of %s, alignment %zu: %s\n", record->file, record->line,
            record->name, size.c_str(), record->alignment, strerror(error));
  return false;
}

bool is_zero(const char* bytes, size_t count) {
  return bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

// The memory is zero: what is zero in the image is left alone, so that no page is touched for it.
void copy_image(const Record* record) {
  constexpr size_t kPiece = 4096;
  char* to = static_cast<char*>(value_of(record));
  const char* from = static_cast<const char*>(record->image);
  for (size_t at = 0; at < record->image_bytes; at += kPiece) {
    const size_t piece = std::min(kPiece, record->image_bytes - at);
    if (!is_zero(from + at, piece)) memcpy(to + at, from + at, piece);
  }
}

bool give_memory(Record* record) {
  if (record->pointer == nullptr || value_of(record) != nullptr) return true;
  size_t bytes = 1, alignment = 1;  // an array of no bytes has an address too
  for (const Record* r = first; r != nullptr; r = next_of(r)) {
    if (r->pointer != record->pointer) continue;
    bytes = std::max(bytes, r->bytes);
    alignment = std::max(alignment, r->alignment);
  }
  errno = 0;
  void* memory = alignment > kUsualAlignment ? dlm_aligned_alloc(alignment, bytes) : dlm_alloc(bytes);
  if (memory == nullptr) return complain(record, errno != 0 ? errno : ENOMEM);
  memcpy(record->pointer, &memory, sizeof memory);
  return true;
}

// Memory first, then what is known, then what needs the addresses.
bool give_all() {
  for (Record* r = first; r != nullptr; r = next_of(r))
    if (!give_memory(r)) return false;
  for (const Record* r = first; r != nullptr; r = next_of(r))
    if (r->image != nullptr) copy_image(r);
  for (const Record* r = first; r != nullptr; r = next_of(r))
    if (r->compute != nullptr) r->compute();
  first = last = nullptr;
  return true;
}

}  // namespace
}  // namespace tasuki::cluster

using tasuki::cluster::Record;

__attribute__((visibility("default"))) void tasuki_dlm_register(Record* const* begin, Record* const* end) {
  using namespace tasuki::cluster;
  const std::lock_guard<std::mutex> lock(mutex);
  for (Record* const* entry = begin; entry != end; entry++) {
    Record* record = *entry;
    if (record == nullptr) continue;
    check_size(record);
    if (record->state[1] == nullptr) append(record);
  }
  if (first == nullptr) return;
  if (started()) {
    if (!give_all()) exit(1);
  } else if (&tasuki_dlm_main_waits == nullptr) {
    fprintf(stderr,
            "%s:%zu: dlm array '%s': this program was compiled, but not linked by tasukicc, and starts "
            "without its "
            "arrays; link it with: tasukicc objects -o program\n",
            first->file, first->line, first->name);
    exit(1);
  }
}

__attribute__((visibility("default"))) int tasuki_dlm_main_begin(int* argc, char*** argv) {
  using namespace tasuki::cluster;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (first == nullptr) return 0;
  }
  if (dlm_startup(argc, argv) != 0) return 1;  // it has said why
  const std::lock_guard<std::mutex> lock(mutex);
  return give_all() ? 0 : 1;
}
