#include "simmpi/objects/datatype.h"

#include <wchar.h>

#include <array>
#include <complex>
#include <memory>

namespace tasuki::simmpi {
namespace {

struct Predefined {
  MPI_Datatype handle;
  const char* name;
  Basic basic;
  uint64_t size, extent;
};

#define PLAIN(name, basic, type) \
  { name, #name, Basic::basic, sizeof(type), sizeof(type) }
template <typename Value, typename Index>
struct Pair {
  Value value;
  Index index;
};
#define PAIR(name, basic, value, index) \
  { name, #name, Basic::basic, sizeof(value) + sizeof(index), sizeof(Pair<value, index>) }

const Predefined kPredefined[] = {
    PLAIN(MPI_AINT, i64, int64_t),
    PLAIN(MPI_COUNT, i64, int64_t),
    PLAIN(MPI_OFFSET, i64, int64_t),
    PLAIN(MPI_PACKED, byte, char),
    PLAIN(MPI_SHORT, i16, int16_t),
    PLAIN(MPI_INT, i32, int32_t),
    PLAIN(MPI_LONG, i64, int64_t),
    PLAIN(MPI_LONG_LONG, i64, int64_t),
    PLAIN(MPI_UNSIGNED_SHORT, u16, uint16_t),
    PLAIN(MPI_UNSIGNED, u32, uint32_t),
    PLAIN(MPI_UNSIGNED_LONG, u64, uint64_t),
    PLAIN(MPI_UNSIGNED_LONG_LONG, u64, uint64_t),
    PLAIN(MPI_FLOAT, f32, float),
    PLAIN(MPI_C_FLOAT_COMPLEX, c32, std::complex<float>),
    PLAIN(MPI_CXX_FLOAT_COMPLEX, c32, std::complex<float>),
    PLAIN(MPI_DOUBLE, f64, double),
    PLAIN(MPI_C_DOUBLE_COMPLEX, c64, std::complex<double>),
    PLAIN(MPI_CXX_DOUBLE_COMPLEX, c64, std::complex<double>),
    PLAIN(MPI_LOGICAL, logical, int32_t),
    PLAIN(MPI_INTEGER, i32, int32_t),
    PLAIN(MPI_REAL, f32, float),
    PLAIN(MPI_COMPLEX, c32, std::complex<float>),
    PLAIN(MPI_DOUBLE_PRECISION, f64, double),
    PLAIN(MPI_DOUBLE_COMPLEX, c64, std::complex<double>),
    PLAIN(MPI_CHARACTER, none, char),
    PLAIN(MPI_LONG_DOUBLE, f80, long double),
    PLAIN(MPI_C_LONG_DOUBLE_COMPLEX, c80, std::complex<long double>),
    PLAIN(MPI_CXX_LONG_DOUBLE_COMPLEX, c80, std::complex<long double>),
    PAIR(MPI_FLOAT_INT, pair_f32_i32, float, int),
    PAIR(MPI_DOUBLE_INT, pair_f64_i32, double, int),
    PAIR(MPI_LONG_INT, pair_i64_i32, int64_t, int),
    PAIR(MPI_2INT, pair_i32_i32, int, int),
    PAIR(MPI_SHORT_INT, pair_i16_i32, int16_t, int),
    PAIR(MPI_LONG_DOUBLE_INT, pair_f80_i32, long double, int),
    PAIR(MPI_2REAL, pair_f32, float, float),
    PAIR(MPI_2DOUBLE_PRECISION, pair_f64, double, double),
    PAIR(MPI_2INTEGER, pair_i32_i32, int, int),
    PLAIN(MPI_C_BOOL, boolean, bool),
    PLAIN(MPI_CXX_BOOL, boolean, bool),
    PLAIN(MPI_WCHAR, none, wchar_t),
    PLAIN(MPI_INT8_T, i8, int8_t),
    PLAIN(MPI_UINT8_T, u8, uint8_t),
    PLAIN(MPI_CHAR, none, char),
    PLAIN(MPI_SIGNED_CHAR, i8, int8_t),
    PLAIN(MPI_UNSIGNED_CHAR, u8, uint8_t),
    PLAIN(MPI_BYTE, byte, char),
    PLAIN(MPI_INT16_T, i16, int16_t),
    PLAIN(MPI_UINT16_T, u16, uint16_t),
    PLAIN(MPI_INT32_T, i32, int32_t),
    PLAIN(MPI_UINT32_T, u32, uint32_t),
    PLAIN(MPI_INT64_T, i64, int64_t),
    PLAIN(MPI_UINT64_T, u64, uint64_t),
    PLAIN(MPI_LOGICAL1, u8, uint8_t),
    PLAIN(MPI_INTEGER1, i8, int8_t),
    PLAIN(MPI_LOGICAL2, i16, int16_t),
    PLAIN(MPI_INTEGER2, i16, int16_t),
    PLAIN(MPI_LOGICAL4, logical, int32_t),
    PLAIN(MPI_INTEGER4, i32, int32_t),
    PLAIN(MPI_REAL4, f32, float),
    PLAIN(MPI_LOGICAL8, i64, int64_t),
    PLAIN(MPI_INTEGER8, i64, int64_t),
    PLAIN(MPI_REAL8, f64, double),
    PLAIN(MPI_COMPLEX8, c32, std::complex<float>),
    PLAIN(MPI_COMPLEX16, c64, std::complex<double>),
};
#undef PLAIN
#undef PAIR

// The predefined types by handle: constants, of all ranks.
class Table {
 public:
  Table() {
    for (const Predefined& p : kPredefined) {
      auto t = std::make_unique<Datatype>();
      t->predefined = p.handle;
      t->name = p.name;
      t->basic = p.basic;
      t->element = p.size;
      if (p.size == p.extent) {
        t->layout = layout::make_dense(p.size);
      } else {
        // A value and an int; where the pair has a hole it is not transferred.
        const uint64_t index = 4, value = p.size - index;
        const uint64_t at = p.basic == Basic::pair_i16_i32 ? 4 : value;
        const layout::Layout *first = layout::make_dense(value), *second = layout::make_dense(index);
        const uint64_t lengths[] = {1, 1};
        const int64_t displacements[] = {0, static_cast<int64_t>(at)};
        const layout::Layout* children[] = {first, second};
        const layout::Layout* both = layout::make_struct(2, lengths, displacements, children);
        t->layout = layout::make_resized(0, static_cast<int64_t>(p.extent), both);
        for (const layout::Layout* l : {first, second, both}) layout::release(l);
      }
      types_[reinterpret_cast<uintptr_t>(p.handle)] = std::move(t);
    }
  }
  Datatype* find(uintptr_t handle) const { return handle < types_.size() ? types_[handle].get() : nullptr; }

 private:
  std::array<std::unique_ptr<Datatype>, 0x300> types_;
};

const Table& table() {
  static const Table t;
  return t;
}

// ---- operators
template <typename T>
struct IsComplex : std::false_type {};
template <typename T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <typename T, typename F>
void each(const void* in, void* inout, uint64_t n, F f) {
  const T* a = static_cast<const T*>(in);
  T* b = static_cast<T*>(inout);
  for (uint64_t i = 0; i < n; i++) b[i] = static_cast<T>(f(a[i], b[i]));
}

enum class Operator { sum, min, max, prod, band, bor, bxor, land, lor, lxor, minloc, maxloc, replace, none };

Operator operator_of(MPI_Op op) {
  if (op == MPI_SUM) return Operator::sum;
  if (op == MPI_MIN) return Operator::min;
  if (op == MPI_MAX) return Operator::max;
  if (op == MPI_PROD) return Operator::prod;
  if (op == MPI_BAND) return Operator::band;
  if (op == MPI_BOR) return Operator::bor;
  if (op == MPI_BXOR) return Operator::bxor;
  if (op == MPI_LAND) return Operator::land;
  if (op == MPI_LOR) return Operator::lor;
  if (op == MPI_LXOR) return Operator::lxor;
  if (op == MPI_MINLOC) return Operator::minloc;
  if (op == MPI_MAXLOC) return Operator::maxloc;
  if (op == MPI_REPLACE) return Operator::replace;
  return Operator::none;
}

// Returns whether the operator is defined for the type; n may be 0.
template <typename T>
bool number(Operator op, const void* in, void* inout, uint64_t n) {
  constexpr bool kComplex = IsComplex<T>::value, kInteger = std::is_integral_v<T>;
  switch (op) {
    case Operator::sum:
      each<T>(in, inout, n, [](T a, T b) { return a + b; });
      return true;
    case Operator::prod:
      each<T>(in, inout, n, [](T a, T b) { return a * b; });
      return true;
    case Operator::replace:
      each<T>(in, inout, n, [](T a, T) { return a; });
      return true;
    default:
      break;
  }
  if constexpr (!kComplex) {
    switch (op) {
      case Operator::min:
        each<T>(in, inout, n, [](T a, T b) { return b < a ? b : a; });
        return true;
      case Operator::max:
        each<T>(in, inout, n, [](T a, T b) { return a < b ? b : a; });
        return true;
      default:
        break;
    }
  }
  if constexpr (kInteger) {
    switch (op) {
      case Operator::band:
        each<T>(in, inout, n, [](T a, T b) { return a & b; });
        return true;
      case Operator::bor:
        each<T>(in, inout, n, [](T a, T b) { return a | b; });
        return true;
      case Operator::bxor:
        each<T>(in, inout, n, [](T a, T b) { return a ^ b; });
        return true;
      case Operator::land:
        each<T>(in, inout, n, [](T a, T b) { return a != 0 && b != 0; });
        return true;
      case Operator::lor:
        each<T>(in, inout, n, [](T a, T b) { return a != 0 || b != 0; });
        return true;
      case Operator::lxor:
        each<T>(in, inout, n, [](T a, T b) { return (a != 0) != (b != 0); });
        return true;
      default:
        break;
    }
  }
  return false;
}

template <typename Value, typename Index>
bool pair(Operator op, const void* in, void* inout, uint64_t n) {
  if (op != Operator::minloc && op != Operator::maxloc && op != Operator::replace) return false;
  using P = Pair<Value, Index>;
  const P* a = static_cast<const P*>(in);
  P* b = static_cast<P*>(inout);
  for (uint64_t i = 0; i < n; i++) {
    const bool better = op == Operator::replace  ? true
                        : op == Operator::minloc ? a[i].value < b[i].value
                                                 : b[i].value < a[i].value;
    const bool tie = a[i].value == b[i].value && a[i].index < b[i].index;
    if (better || tie) b[i] = a[i];
  }
  return true;
}

bool builtin(Operator op, Basic basic, const void* in, void* inout, uint64_t n) {
  switch (basic) {
    case Basic::none:
      return false;
    case Basic::i8:
      return number<int8_t>(op, in, inout, n);
    case Basic::u8:
      return number<uint8_t>(op, in, inout, n);
    case Basic::i16:
      return number<int16_t>(op, in, inout, n);
    case Basic::u16:
      return number<uint16_t>(op, in, inout, n);
    case Basic::i32:
    case Basic::logical:
      return number<int32_t>(op, in, inout, n);
    case Basic::u32:
      return number<uint32_t>(op, in, inout, n);
    case Basic::i64:
      return number<int64_t>(op, in, inout, n);
    case Basic::u64:
      return number<uint64_t>(op, in, inout, n);
    case Basic::f32:
      return number<float>(op, in, inout, n);
    case Basic::f64:
      return number<double>(op, in, inout, n);
    case Basic::f80:
      return number<long double>(op, in, inout, n);
    case Basic::c32:
      return number<std::complex<float>>(op, in, inout, n);
    case Basic::c64:
      return number<std::complex<double>>(op, in, inout, n);
    case Basic::c80:
      return number<std::complex<long double>>(op, in, inout, n);
    case Basic::boolean:
      return op >= Operator::land && op <= Operator::lxor && number<uint8_t>(op, in, inout, n);
    case Basic::byte:
      return op >= Operator::band && op <= Operator::bxor && number<uint8_t>(op, in, inout, n);
    case Basic::pair_f32_i32:
      return pair<float, int>(op, in, inout, n);
    case Basic::pair_f64_i32:
      return pair<double, int>(op, in, inout, n);
    case Basic::pair_i64_i32:
      return pair<int64_t, int>(op, in, inout, n);
    case Basic::pair_i32_i32:
      return pair<int, int>(op, in, inout, n);
    case Basic::pair_i16_i32:
      return pair<int16_t, int>(op, in, inout, n);
    case Basic::pair_f80_i32:
      return pair<long double, int>(op, in, inout, n);
    case Basic::pair_f32:
      return pair<float, float>(op, in, inout, n);
    case Basic::pair_f64:
      return pair<double, double>(op, in, inout, n);
  }
  return false;
}

}  // namespace

Datatype* type_of(MPI_Datatype type) {
  const auto value = reinterpret_cast<uintptr_t>(type);
  if (value < 0x1000) return table().find(value);
  Datatype* t = reinterpret_cast<Datatype*>(type);
  return t->magic == Datatype::kMagic ? t : nullptr;
}

MPI_Datatype handle(Datatype* t) {
  return t->predefined != MPI_DATATYPE_NULL ? t->predefined : reinterpret_cast<MPI_Datatype>(t);
}

Datatype* byte_type() {
  return type_of(MPI_BYTE);
}

void retain(Datatype* t) {
  if (t->predefined == MPI_DATATYPE_NULL) t->references++;
}

void release(Datatype* t) {
  if (t->predefined != MPI_DATATYPE_NULL || --t->references != 0) return;
  for (Datatype* child : t->types) release(child);
  layout::release(t->layout);
  t->magic = 0;
  delete t;
}

int64_t count_elements(const Datatype& t, uint64_t bytes) {
  if (t.size() == 0) return 0;
  if (t.element != 0) return bytes % t.element == 0 ? static_cast<int64_t>(bytes / t.element) : -1;
  // Different ones: a struct's members in order, whole structs at once.
  int64_t in_one = 0;
  const auto walk = [&](uint64_t limit) -> int64_t {
    int64_t n = 0;
    uint64_t left = limit;
    for (size_t i = 0; i < t.types.size() && left != 0; i++) {
      const uint64_t repeats = t.combiner == MPI_COMBINER_STRUCT
                                   ? static_cast<uint64_t>(t.large ? t.counts[i + 1] : t.integers[i + 1])
                                   : t.size() / std::max<uint64_t>(1, t.types[i]->size());
      const uint64_t here = std::min(left, repeats * t.types[i]->size());
      const int64_t k = count_elements(*t.types[i], here);
      if (k < 0) return -1;
      n += k;
      left -= here;
    }
    return left == 0 ? n : -1;
  };
  in_one = walk(t.size());
  const int64_t rest = walk(bytes % t.size());
  return in_one < 0 || rest < 0 ? -1 : static_cast<int64_t>(bytes / t.size()) * in_one + rest;
}

Op* op_of(MPI_Op op) {
  if (reinterpret_cast<uintptr_t>(op) < 0x1000) return nullptr;
  Op* p = reinterpret_cast<Op*>(op);
  return p->magic == Op::kMagic ? p : nullptr;
}

bool commutes(MPI_Op op) {
  const Op* user = op_of(op);
  return user != nullptr ? user->commutes : op != MPI_REPLACE && op != MPI_NO_OP;
}

int check_op(MPI_Op op, MPI_Datatype type) {
  const Datatype* t = type_of(type);
  if (t == nullptr) return MPI_ERR_TYPE;
  if (op_of(op) != nullptr || op == MPI_NO_OP) return MPI_SUCCESS;
  return builtin(operator_of(op), t->basic, nullptr, nullptr, 0) ? MPI_SUCCESS : MPI_ERR_OP;
}

int reduce(MPI_Op op, MPI_Datatype type, const void* in, void* inout, uint64_t count) {
  if (const Op* user = op_of(op)) {
    if (user->function.large != nullptr) {
      auto n = static_cast<MPI_Count>(count);
      user->function.large(const_cast<void*>(in), inout, &n, &type);
      return MPI_SUCCESS;
    }
    const int64_t extent = type_of(type)->extent();
    for (uint64_t done = 0; done < count;) {
      int n = static_cast<int>(std::min<uint64_t>(count - done, INT32_MAX));
      const int64_t at = static_cast<int64_t>(done) * extent;
      user->function.small(static_cast<char*>(const_cast<void*>(in)) + at, static_cast<char*>(inout) + at, &n,
                           &type);
      done += static_cast<uint64_t>(n);
    }
    return MPI_SUCCESS;
  }
  if (op == MPI_NO_OP) return MPI_SUCCESS;
  return builtin(operator_of(op), type_of(type)->basic, in, inout, count) ? MPI_SUCCESS : MPI_ERR_OP;
}

}  // namespace tasuki::simmpi
