#include "shim/objects/updates.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "generated/pmpi.h"
#include "message/transfers/sums.h"
#include "os/memory/keys.h"

namespace tasuki::shim {
namespace {

// The lock is held for so many bytes at a time; elements that are not dense on both sides go through buffers
// of the smaller size, on the stack of a thread that may be the user's.
constexpr uint64_t kPiece = 64 << 10;
constexpr uint64_t kStagedPiece = 2 << 10;
// From so many bytes on idle tasks help, and how much they get at a time. Sums of 256 KiB, which are in the
// caches, took 10 us with a helper and 6.6 alone, 1 MiB 37 and 38, 4 MiB 136 and 200 (2 cores, AMD EPYC).
constexpr uint64_t kShareFrom = 512 << 10;
constexpr uint64_t kSharedPiece = 1 << 20;
constexpr uint64_t kLargestSpread = 2;  // extent of a pair type to its size: MPI_SHORT_INT has 8 to 6

Number number_of(MPI_Datatype type) {
  const struct {
    MPI_Datatype type;
    Number number;
  } known[] = {
      {MPI_SIGNED_CHAR, Number::int8},
      {MPI_INT8_T, Number::int8},
      {MPI_UNSIGNED_CHAR, Number::uint8},
      {MPI_UINT8_T, Number::uint8},
      {MPI_SHORT, Number::int16},
      {MPI_INT16_T, Number::int16},
      {MPI_UNSIGNED_SHORT, Number::uint16},
      {MPI_UINT16_T, Number::uint16},
      {MPI_INT, Number::int32},
      {MPI_INT32_T, Number::int32},
      {MPI_LONG, Number::int64},
      {MPI_LONG_LONG_INT, Number::int64},
      {MPI_INT64_T, Number::int64},
      {MPI_AINT, Number::int64},
      {MPI_OFFSET, Number::int64},
      {MPI_COUNT, Number::int64},
      {MPI_UNSIGNED, Number::uint32},
      {MPI_UINT32_T, Number::uint32},
      {MPI_UNSIGNED_LONG, Number::uint64},
      {MPI_UNSIGNED_LONG_LONG, Number::uint64},
      {MPI_UINT64_T, Number::uint64},
      {MPI_FLOAT, Number::float32},
      {MPI_DOUBLE, Number::float64},
      {MPI_INTEGER, Number::int32},
      {MPI_REAL, Number::float32},
      {MPI_DOUBLE_PRECISION, Number::float64},
  };
  const auto* found =
      std::find_if(std::begin(known), std::end(known), [&](const auto& k) { return k.type == type; });
  return found == std::end(known) ? Number::none : found->number;
}

// One element. False: not known here; the smallest and largest of floating point neither, since NaNs are the
// library's matter. The libraries' own are not always right: MPICH 4.0.2 compares unsigned numbers as if they
// had signs; Open MPI 4.1.4 lets sums of 8 and 16 bits saturate.
template <typename T>
bool apply(MPI_Op op, char* target, const char* origin) {
  if (op == MPI_SUM) {
    message::add_one<T>(target, origin);
    return true;
  }
  if (!std::is_integral_v<T> || (op != MPI_MIN && op != MPI_MAX)) return false;
  T a, b;
  memcpy(&a, target, sizeof a);
  memcpy(&b, origin, sizeof b);
  a = op == MPI_MIN ? std::min(a, b) : std::max(a, b);
  memcpy(target, &a, sizeof a);
  return true;
}

bool apply(MPI_Op op, Number number, char* target, const char* origin) {
  return with_type(number, [&](auto zero) { return apply<decltype(zero)>(op, target, origin); });
}

// Elements of a region, in a row: where they are if they are so already, else a copy.
class Row {
 public:
  Row(const layout::Region& region, const Element& e) : region_(region), element_(e) {
    dense_ = e.type->dense && layout::is_dense(region, &start_);
  }
  bool is_dense() const { return dense_; }
  char* at(uint64_t from) const { return start_ + from; }

  // Packed bytes [from, from + n) as elements.
  char* read(uint64_t from, uint64_t n) {
    if (dense_) return at(from);
    if (element_.type->dense) {
      layout::pack(elements_, region_, from, n);
      return elements_;
    }
    layout::pack(packed_, region_, from, n);
    layout::unpack(elements(n), 0, n, packed_);
    return elements_;
  }
  // After a change of what read() returned.
  void write(uint64_t from, uint64_t n) {
    if (dense_) return;
    if (element_.type->dense) return layout::unpack(region_, from, n, elements_);
    layout::pack(packed_, elements(n), 0, n);
    layout::unpack(region_, from, n, packed_);
  }

 private:
  layout::Region elements(uint64_t n) { return {elements_, n / element_.type->size, element_.type->layout}; }

  layout::Region region_;
  const Element& element_;
  bool dense_;
  char* start_ = nullptr;
  alignas(kLine) char elements_[kStagedPiece * kLargestSpread];
  alignas(kLine) char packed_[kStagedPiece];
};

void reduce(MPI_Op op, const Element& e, const char* origin, char* target, uint64_t n) {
  if (op == MPI_SUM && message::add_row(e.number, target, origin, n)) return;
  const bool whole = e.number != Number::none && e.number != Number::float32 && e.number != Number::float64;
  if (whole && (op == MPI_MIN || op == MPI_MAX)) {
    for (uint64_t at = 0; at < n; at += e.type->size) apply(op, e.number, target + at, origin + at);
    return;
  }
  pmpi().Reduce_local(origin, target, static_cast<int>(n / e.type->size), e.handle, op);
}

}  // namespace

bool is_update(MPI_Op op) {
  const MPI_Op known[] = {MPI_SUM, MPI_REPLACE, MPI_NO_OP, MPI_MAX, MPI_MIN,  MPI_PROD,   MPI_BAND,
                          MPI_BOR, MPI_BXOR,    MPI_LAND,  MPI_LOR, MPI_LXOR, MPI_MAXLOC, MPI_MINLOC};
  return std::find(std::begin(known), std::end(known), op) != std::end(known);
}

Element element_of(MPI_Datatype handle, TypeInfo* t, TypeTable& types, MPI_Comm quiet) {
  uintptr_t known = t->element.load(std::memory_order_relaxed);
  if (known == 0) {
    known = key_of(predefined_type_of(handle));
    t->element.store(known, std::memory_order_relaxed);
  }
  const MPI_Datatype element = handle_of<MPI_Datatype>(known);
  if (element == MPI_DATATYPE_NULL) return {element, nullptr, Number::none};
  TypeInfo* type = key_of(handle) == known ? t : types.find(element, quiet).value_or(nullptr);
  if (type == nullptr) return {element, nullptr, Number::none};
  uint8_t number = type->number.load(std::memory_order_relaxed);
  if (number == 0) {
    number = static_cast<uint8_t>(static_cast<int>(number_of(element)) + 1);
    type->number.store(number, std::memory_order_relaxed);
  }
  return {element, type, static_cast<Number>(number - 1)};
}

void update_number(WindowPart& part, MPI_Op op, const Element& e, char* target, const char* origin,
                   char* fetched) {
  const uint64_t bytes = e.type->size;
  const os::WritesAllowed allowed;
  Locked locked(part.updates);
  if (fetched != nullptr) memcpy(fetched, target, bytes);
  if (op == MPI_NO_OP) return;
  if (op == MPI_REPLACE)
    memcpy(target, origin, bytes);
  else if (!apply(op, e.number, target, origin))
    reduce(op, e, origin, target, bytes);
}

// Of a large part: with idle tasks, which work under the caller's lock. False, with nothing done: not for
// them.
static bool update_shared(Engine& engine, WindowPart& part, Updates lock, MPI_Op op, const Element& e,
                          const layout::Region& target, const layout::Region& origin, uint64_t bytes) {
  const bool sum = op == MPI_SUM && e.number != Number::none;
  if (bytes < kShareFrom || (!sum && op != MPI_REPLACE)) return false;
  const uint64_t piece = kSharedPiece / e.type->size * e.type->size;
  for (uint64_t at = 0; at < bytes; at += piece) {
    const LockIf locked(lock == Updates::free, part.updates);
    engine.copy(target, origin, std::min(piece, bytes - at),
                message::Part{at, sum ? e.number : Number::none});
  }
  return true;
}

void update(Engine& engine, WindowPart& part, Updates lock, MPI_Op op, const Element& e,
            const layout::Region& target, const layout::Region& origin, const layout::Region* fetched,
            uint64_t bytes) {
  if (fetched == nullptr && update_shared(engine, part, lock, op, e, target, origin, bytes)) return;
  Row into(target, e), from(origin, e);
  const bool staged = !into.is_dense() || !from.is_dense();
  const uint64_t most = staged ? kStagedPiece : kPiece;
  const os::WritesAllowed allowed;
  const uint64_t piece = std::max(most / e.type->size, uint64_t{1}) * e.type->size;
  for (uint64_t at = 0; at < bytes; at += piece) {
    const uint64_t n = std::min(piece, bytes - at);
    const LockIf locked(lock == Updates::free, part.updates);
    if (fetched != nullptr) layout::copy(*fetched, target, at, n);
    if (op == MPI_NO_OP) continue;
    if (op == MPI_REPLACE) {
      layout::copy(target, origin, at, n);
      continue;
    }
    reduce(op, e, from.read(at, n), into.read(at, n), n);
    into.write(at, n);
  }
}

void compare_and_swap(WindowPart& part, char* target, const void* origin, const void* compare, void* result,
                      uint64_t bytes) {
  const os::WritesAllowed allowed;
  Locked locked(part.updates);
  memcpy(result, target, bytes);
  if (memcmp(target, compare, bytes) == 0) memcpy(target, origin, bytes);
}

}  // namespace tasuki::shim
