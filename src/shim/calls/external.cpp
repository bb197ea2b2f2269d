// MPI_Pack_external and MPI_Unpack_external ("external32", MPI-4.0, 14.5.2) by layouts.
//
// Two libraries, or one with and without Tasuki, must be able to read what the other wrote. So only types are
// handled of whose elements the library was seen to write exactly what the standard demands, as many bytes as
// they have here, the most significant first; the library's own answer is kept for all others:
//   MPI_LONG, MPI_UNSIGNED_LONG    both libraries write 4 of the 8 bytes (the standard's table up to MPI-4.0)
//   MPI_LONG_DOUBLE, MPI_WCHAR     other formats
//   MPI_COMPLEX, MPI_DOUBLE_COMPLEX  MPICH 4.0 reverses both parts as one number
//   pairs of value and index       MPICH 4.0 ends the program
// MPI_Pack_external_size is the library's: it is never asked while bytes move.
#include <atomic>
#include <cstring>

#include "generated/pmpi.h"
#include "layout/byte_order.h"
#include "shim/calls/task_state.h"

namespace tasuki::shim {
namespace {

// Predefined types that consist of equal elements with a plain binary format.
struct Basic {
  MPI_Datatype type;
  int elements;  // numbers in it
};
constexpr size_t kMostBasics = 48;

enum class Format : uint8_t { unknown, plain, other };

class Basics {
 public:
  Basics() {
    for (const MPI_Datatype t : {MPI_CHAR,          MPI_SIGNED_CHAR,
                                 MPI_UNSIGNED_CHAR, MPI_BYTE,
                                 MPI_PACKED,        MPI_CHARACTER,
                                 MPI_C_BOOL,        MPI_CXX_BOOL,
                                 MPI_SHORT,         MPI_UNSIGNED_SHORT,
                                 MPI_INT,           MPI_UNSIGNED,
                                 MPI_LONG_LONG,     MPI_UNSIGNED_LONG_LONG,
                                 MPI_FLOAT,         MPI_DOUBLE,
                                 MPI_INT8_T,        MPI_INT16_T,
                                 MPI_INT32_T,       MPI_INT64_T,
                                 MPI_UINT8_T,       MPI_UINT16_T,
                                 MPI_UINT32_T,      MPI_UINT64_T,
                                 MPI_AINT,          MPI_OFFSET,
                                 MPI_COUNT,         MPI_INTEGER,
                                 MPI_REAL,          MPI_DOUBLE_PRECISION,
                                 MPI_LOGICAL,       MPI_INTEGER1,
                                 MPI_INTEGER2,      MPI_INTEGER4,
                                 MPI_INTEGER8,      MPI_REAL4,
                                 MPI_REAL8})
      add(t, 1);
    for (const MPI_Datatype t :
         {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
          MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16})
      add(t, 2);
  }

  // The bytes of one of the type's elements; 0 if the library is to pack it.
  uint64_t element_size(MPI_Datatype type) {
    for (size_t i = 0; i < count_; i++) {
      if (basics_[i].type != type) continue;
      Format f = formats_[i].load(std::memory_order_relaxed);
      if (f == Format::unknown)
        formats_[i].store(f = is_plain(basics_[i]) ? Format::plain : Format::other,
                          std::memory_order_relaxed);
      return f == Format::plain ? size_of(basics_[i]) : 0;
    }
    return 0;
  }

 private:
  void add(MPI_Datatype type, int elements) {
    if (type != MPI_DATATYPE_NULL && count_ < kMostBasics) basics_[count_++] = {type, elements};
  }

  static uint64_t size_of(const Basic& b) {
    int size = 0;
    pmpi().Type_size(b.type, &size);
    return static_cast<uint64_t>(size / b.elements);
  }

  // Lets the library pack one.
  static bool is_plain(const Basic& b) {
    constexpr size_t kMost = 16;
    const size_t size = size_of(b), bytes = size * static_cast<size_t>(b.elements);
    if ((size != 1 && size != 2 && size != 4 && size != 8) || bytes > kMost) return false;
    char value[kMost], expected[kMost], packed[4 * kMost] = {};
    for (size_t i = 0; i < bytes; i++) {
      value[i] = static_cast<char>(i + 1);
      expected[i / size * size + size - 1 - i % size] = value[i];
    }
    MPI_Aint position = 0;
    return pmpi().Pack_external("external32", value, 1, b.type, packed, sizeof packed, &position) ==
               MPI_SUCCESS &&
           position == static_cast<MPI_Aint>(bytes) && memcmp(packed, expected, bytes) == 0;
  }

  Basic basics_[kMostBasics];
  size_t count_ = 0;
  std::atomic<Format> formats_[kMostBasics] = {};
};

uint64_t plain_element(MPI_Datatype type) {
  static Basics basics;
  return basics.element_size(type);
}

}  // namespace

const layout::Elements* elements_of(MPI_Datatype type, TypeInfo* t) {
  const layout::Elements* e = t->elements.load(std::memory_order_acquire);
  if (e != nullptr) return e->runs.empty() ? nullptr : e;
  layout::ElementsBuilder builder;
  const bool plain = decode_elements(type, &plain_element, &builder) && builder.complete();
  const layout::Elements* made = new layout::Elements(plain ? builder.take() : layout::Elements{});
  // Of several threads one makes it known.
  if (t->elements.compare_exchange_strong(e, made, std::memory_order_acq_rel))
    e = made;
  else
    delete made;
  return e->runs.empty() ? nullptr : e;
}

namespace {

// `position`: MPI_Aint, with large counts MPI_Count.
static_assert(sizeof(MPI_Aint) == sizeof(int64_t) && sizeof(MPI_Count) == sizeof(int64_t));

// One argument list for both directions, as in pack.cpp.
class External {
 public:
  External(const char* format, const void* typed, MPI_Count count, MPI_Datatype type, MPI_Count room,
           void* position)
      : position_(position) {
    if (format == nullptr || strcmp(format, "external32") != 0 || count <= 0 || position == nullptr) return;
    // The library is not asked to pack a first time, as MPI_Pack is (pack.cpp): MPICH 4.0 ends the program
    // for most types that hold other derived types. What is wrong with a type it may say itself.
    TypeInfo* t = g_process.types.find(type, g_process.quiet_comm).value_or(nullptr);
    if (t == nullptr || t->opaque || t->size == 0 || (typed == nullptr && t->predefined)) return;
    bytes_ = static_cast<uint64_t>(count) * t->size;
    memcpy(&from_, position, sizeof from_);
    if (from_ < 0 || from_ > room || bytes_ > static_cast<uint64_t>(room - from_)) return;
    elements_ = elements_of(type, t);
    region_ = {static_cast<char*>(const_cast<void*>(typed)), static_cast<uint64_t>(count), t->layout};
  }
  bool handled() const { return elements_ != nullptr; }
  void pack(void* out) {
    layout::pack_swapped(static_cast<char*>(out) + from_, region_, *elements_);
    advance();
  }
  void unpack(const void* in) {
    layout::unpack_swapped(region_, static_cast<const char*>(in) + from_, *elements_);
    advance();
  }

 private:
  void advance() {
    from_ += static_cast<int64_t>(bytes_);
    memcpy(position_, &from_, sizeof from_);
    __atomic_add_fetch(&g_process.external_bytes, bytes_, __ATOMIC_RELAXED);
  }

  void* position_;
  int64_t from_ = 0;
  uint64_t bytes_ = 0;
  const layout::Elements* elements_ = nullptr;
  layout::Region region_{};
};

}  // namespace

namespace delegate {

int pack_external(const char* format, const void* inbuf, MPI_Count incount, MPI_Datatype type, void* outbuf,
                  MPI_Count outsize, void* position, Pass pass) {
  External e(format, inbuf, incount, type, outsize, position);
  if (!e.handled() || outbuf == nullptr) return pass();
  e.pack(outbuf);
  return MPI_SUCCESS;
}

int unpack_external(const char* format, const void* inbuf, MPI_Count insize, void* position, void* outbuf,
                    MPI_Count outcount, MPI_Datatype type, Pass pass) {
  External e(format, outbuf, outcount, type, insize, position);
  if (!e.handled() || inbuf == nullptr) return pass();
  e.unpack(inbuf);
  return MPI_SUCCESS;
}

}  // namespace delegate
}  // namespace tasuki::shim
