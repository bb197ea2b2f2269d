#include "operations.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

namespace collectives {

const char* const op_names[kOps] = {"SUM",
                                    "PROD",
                                    "MIN",
                                    "MAX",
                                    "LAND",
                                    "LOR",
                                    "LXOR",
                                    "BAND",
                                    "BOR",
                                    "BXOR",
                                    "MINLOC",
                                    "MAXLOC",
                                    "user's sum",
                                    "user's matrix product",
                                    "user's affine functions"};

namespace {

constexpr unsigned bit(Op op) {
  return 1u << op;
}
constexpr unsigned kArithmetic = bit(kSum) | bit(kProd) | bit(kMin) | bit(kMax);
constexpr unsigned kLogical = bit(kLand) | bit(kLor) | bit(kLxor);
constexpr unsigned kBits = bit(kBand) | bit(kBor) | bit(kBxor);
constexpr unsigned kLocations = bit(kMinloc) | bit(kMaxloc);
constexpr int kPrime = 10007;

template <typename T>
T load(const unsigned char* from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}
// Without padding.
template <typename T>
void store(T value, unsigned char* to) {
  memcpy(to, &value, kValueBytes<T>);
}

template <typename T, typename F>
void each(const unsigned char* left, unsigned char* right, size_t n, F combine) {
  for (size_t i = 0; i < n * sizeof(T); i += sizeof(T))
    store<T>(static_cast<T>(combine(load<T>(left + i), load<T>(right + i))), right + i);
}

template <typename T>
void combine_numbers(Op op, const unsigned char* left, unsigned char* right, size_t n) {
  if (op == kSum) each<T>(left, right, n, [](T a, T b) { return a + b; });
  if (op == kProd) each<T>(left, right, n, [](T a, T b) { return a * b; });
  if constexpr (std::is_arithmetic_v<T>) {
    if (op == kMin) each<T>(left, right, n, [](T a, T b) { return std::min(a, b); });
    if (op == kMax) each<T>(left, right, n, [](T a, T b) { return std::max(a, b); });
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == kLand) each<T>(left, right, n, [](T a, T b) { return a && b; });
    if (op == kLor) each<T>(left, right, n, [](T a, T b) { return a || b; });
    if (op == kLxor) each<T>(left, right, n, [](T a, T b) { return !a != !b; });
    if (op == kBand) each<T>(left, right, n, [](T a, T b) { return a & b; });
    if (op == kBor) each<T>(left, right, n, [](T a, T b) { return a | b; });
    if (op == kBxor) each<T>(left, right, n, [](T a, T b) { return a ^ b; });
  }
}

// Plain Open MPI 4.1.4 saturates sums of 8 and 16 bits that overflow.
template <typename T>
int64_t summand(uint64_t word, int ranks) {
  const double largest = std::min(1e5, static_cast<double>(std::numeric_limits<T>::max()));
  const int64_t limit = static_cast<int64_t>(largest) / ranks, low = std::is_signed_v<T> ? -limit : 0;
  return low + static_cast<int64_t>(word % static_cast<uint64_t>(limit - low + 1));
}

// Twos come from at most six ranks, so that a product fits into 8 bits.
int64_t factor(uint64_t word, int rank, int ranks, bool with_sign) {
  if (word % 50 == 0) return 0;
  const int64_t n = rank % ((ranks + 5) / 6) == 0 && (word >> 8) % 2 == 0 ? 2 : 1;
  return with_sign && (word >> 16) % 2 == 0 ? -n : n;
}

template <typename T>
T integer(Op op, uint64_t word, int ranks) {
  const uint64_t one_in = 2 * static_cast<uint64_t>(ranks);
  const bool rare = word % one_in == 0;
  const T any = std::is_same_v<T, bool> ? static_cast<T>(1) : static_cast<T>(1 + (word >> 32) % 100);
  switch (op) {
    case kMin:
    case kMax:
      // Plain MPICH 4.0.2 compares unsigned numbers as if they had signs.
      return std::is_signed_v<T> ? static_cast<T>(word >> 8) : static_cast<T>((word >> 8) % 100);
    case kLand:
      return rare ? static_cast<T>(0) : any;
    case kLor:
      return rare ? any : static_cast<T>(0);
    case kLxor:
      return (word >> 20) % 2 ? any : static_cast<T>(0);
    default:
      return static_cast<T>(word >> 8);
  }
}

template <typename T>
void make_number(Op op, uint64_t word, int rank, int ranks, unsigned char* to) {
  if (op == kSum)
    store<T>(static_cast<T>(summand<T>(word, ranks)), to);
  else if (op == kProd)
    store<T>(static_cast<T>(factor(word, rank, ranks, std::is_signed_v<T>)), to);
  else if constexpr (std::is_integral_v<T>)
    store<T>(integer<T>(op, word, ranks), to);
  else
    store<T>(static_cast<T>(static_cast<int64_t>(word % 2000001) - 1000000), to);
}

template <typename T>
void make_complex(Op op, uint64_t word, int rank, int ranks, unsigned char* to) {
  using F = typename T::value_type;
  if (op == kSum) {
    store<T>({static_cast<F>(summand<F>(word, ranks)), static_cast<F>(summand<F>(word >> 20, ranks))}, to);
    return;
  }
  // A multiple of a power of 2 + i is never real or imaginary: the sign of a zero depends on the order.
  const T roots[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  const F size = (word >> 8) % 2 == 0 && rank % ((ranks + 5) / 6) == 0 ? 2 : 1;
  store<T>(roots[word % 4] * T{2 * size, size}, to);
}

template <typename T>
struct Pair {
  T value;
  int index;
};

// Few values, so that the index decides.
template <typename T>
void make_pair(Op, uint64_t word, int, int, unsigned char* to) {
  store<T>(static_cast<T>(static_cast<int>(word % 5) - 2), to);
  store<int>(static_cast<int>(word >> 32), to + offsetof(Pair<T>, index));
}

template <typename T>
void combine_pairs(Op op, const unsigned char* left, unsigned char* right, size_t n) {
  constexpr size_t at = offsetof(Pair<T>, index);
  for (size_t i = 0; i < n; i++, left += sizeof(Pair<T>), right += sizeof(Pair<T>)) {
    const T a = load<T>(left), b = load<T>(right);
    const int index = load<int>(left + at);
    const bool better = op == kMinloc ? a < b : a > b;
    if (better) store<T>(a, right);
    if (better || (a == b && index < load<int>(right + at))) store<int>(index, right + at);
  }
}

// The matrix (0 1; 2 3), or the function x -> first x + second.
constexpr size_t kMatrixBytes = 16, kAffineBytes = 24, kSecond = 12;

int get(const unsigned char* at, size_t i) {
  return load<int>(at + i * sizeof(int));
}

void combine_users(Op op, const unsigned char* left, unsigned char* right, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (op == kAdd) {
      const unsigned char* a = left + i * sizeof(int);
      unsigned char* b = right + i * sizeof(int);
      store((get(a, 0) + get(b, 0)) % kPrime, b);
    } else if (op == kMatrix) {
      const unsigned char* a = left + i * kMatrixBytes;
      unsigned char* b = right + i * kMatrixBytes;
      int product[4];
      for (size_t e = 0; e < 4; e++)
        product[e] = (get(a, e & 2) * get(b, e & 1) + get(a, (e & 2) + 1) * get(b, (e & 1) + 2)) % kPrime;
      memcpy(b, product, sizeof product);
    } else {
      const unsigned char* a = left + i * kAffineBytes;
      unsigned char* b = right + i * kAffineBytes;
      store((get(b, 0) * get(a, 3) + get(b, 3)) % kPrime, b + kSecond);
      store(get(a, 0) * get(b, 0) % kPrime, b);
    }
  }
}

void make_users(Op op, uint64_t word, int, int, unsigned char* to) {
  const auto number = [&](uint64_t i) { return static_cast<int>(word_of(word, i) % kPrime); };
  store(number(0), to);
  for (uint64_t i = 1; op == kMatrix && i < 4; i++) store(number(i), to + i * sizeof(int));
  if (op == kAffine) store(number(1), to + kSecond);
}

// As MPI calls it: inout = in op inout, and the type is the call's (6.9.5).
template <Op op, size_t bytes>
void user(void* in, void* inout, int* n, MPI_Datatype* type) {
  MPI_Aint low, extent;
  MUST(MPI_Type_get_extent(*type, &low, &extent));
  if (extent != static_cast<MPI_Aint>(bytes) || *n < 0)
    fail("the user's operation is called for " + std::to_string(*n) + " items of extent " +
         std::to_string(extent));
  combine_users(op, static_cast<unsigned char*>(in), static_cast<unsigned char*>(inout),
                static_cast<size_t>(*n));
}

template <typename T>
Element number(const char* name, MPI_Datatype type, unsigned ops) {
  constexpr size_t value = kValueBytes<T>;
  return {name, type, sizeof(T), {{0, value}}, true, ops, make_number<T>, combine_numbers<T>};
}
template <typename T>
Element complex(const char* name, MPI_Datatype type) {
  return {name,
          type,
          sizeof(T),
          {{0, sizeof(T)}},
          true,
          bit(kSum) | bit(kProd),
          make_complex<T>,
          combine_numbers<T>};
}
template <typename T>
Element pair(const char* name, MPI_Datatype type) {
  constexpr size_t value = kValueBytes<T>;
  const std::vector<Element::Field> fields = {{0, value}, {offsetof(Pair<T>, index), sizeof(int)}};
  return {name, type, sizeof(Pair<T>), fields, true, kLocations, make_pair<T>, combine_pairs<T>};
}

}  // namespace

const std::vector<Element>& elements() {
  constexpr unsigned integer = kArithmetic | kLogical | kBits, address = kArithmetic | kBits;
  static const std::vector<Element> list = {
      number<signed char>("MPI_SIGNED_CHAR", MPI_SIGNED_CHAR, integer),
      number<unsigned char>("MPI_UNSIGNED_CHAR", MPI_UNSIGNED_CHAR, integer),
      number<short>("MPI_SHORT", MPI_SHORT, integer),
      number<unsigned short>("MPI_UNSIGNED_SHORT", MPI_UNSIGNED_SHORT, integer),
      number<int>("MPI_INT", MPI_INT, integer),
      number<unsigned>("MPI_UNSIGNED", MPI_UNSIGNED, integer),
      number<long>("MPI_LONG", MPI_LONG, integer),
      number<unsigned long>("MPI_UNSIGNED_LONG", MPI_UNSIGNED_LONG, integer),
      number<long long>("MPI_LONG_LONG", MPI_LONG_LONG, integer),
      number<unsigned long long>("MPI_UNSIGNED_LONG_LONG", MPI_UNSIGNED_LONG_LONG, integer),
      number<int8_t>("MPI_INT8_T", MPI_INT8_T, integer),
      number<int16_t>("MPI_INT16_T", MPI_INT16_T, integer),
      number<int32_t>("MPI_INT32_T", MPI_INT32_T, integer),
      number<int64_t>("MPI_INT64_T", MPI_INT64_T, integer),
      number<uint8_t>("MPI_UINT8_T", MPI_UINT8_T, integer),
      number<uint16_t>("MPI_UINT16_T", MPI_UINT16_T, integer),
      number<uint32_t>("MPI_UINT32_T", MPI_UINT32_T, integer),
      number<uint64_t>("MPI_UINT64_T", MPI_UINT64_T, integer),
      number<MPI_Aint>("MPI_AINT", MPI_AINT, address),
      number<MPI_Offset>("MPI_OFFSET", MPI_OFFSET, address),
      number<MPI_Count>("MPI_COUNT", MPI_COUNT, address),
      number<unsigned char>("MPI_BYTE", MPI_BYTE, kBits),
      number<bool>("MPI_C_BOOL", MPI_C_BOOL, kLogical),
      number<float>("MPI_FLOAT", MPI_FLOAT, kArithmetic),
      number<double>("MPI_DOUBLE", MPI_DOUBLE, kArithmetic),
      number<long double>("MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, kArithmetic),
      complex<std::complex<float>>("MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX),
      complex<std::complex<double>>("MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX),
      pair<float>("MPI_FLOAT_INT", MPI_FLOAT_INT),
      pair<double>("MPI_DOUBLE_INT", MPI_DOUBLE_INT),
      pair<long double>("MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT),
      pair<int>("MPI_2INT", MPI_2INT),
      pair<long>("MPI_LONG_INT", MPI_LONG_INT),
      pair<short>("MPI_SHORT_INT", MPI_SHORT_INT),
      {"MPI_INT", MPI_INT, sizeof(int), {{0, 4}}, false, bit(kAdd), make_users, combine_users},
      {"4 ints", MPI_DATATYPE_NULL, kMatrixBytes, {{0, 16}}, false, bit(kMatrix), make_users, combine_users},
      {"2 ints with gaps",
       MPI_DATATYPE_NULL,
       kAffineBytes,
       {{0, 4}, {kSecond, 4}},
       false,
       bit(kAffine),
       make_users,
       combine_users}};
  return list;
}

MPI_Datatype Element::make_type() const {
  if (type != MPI_DATATYPE_NULL) return type;
  MPI_Datatype made, ints;
  if (ops == bit(kMatrix)) {
    MUST(MPI_Type_contiguous(4, MPI_INT, &made));
  } else {  // the first lies 8 bytes behind the lower bound
    MUST(MPI_Type_vector(2, 1, kSecond / sizeof(int), MPI_INT, &ints));
    MUST(MPI_Type_create_resized(ints, -8, kAffineBytes, &made));
    MUST(MPI_Type_free(&ints));
  }
  MUST(MPI_Type_commit(&made));
  return made;
}

void Element::put(const Bytes& from, size_t n, unsigned char* to, const unsigned char* now) const {
  for (size_t i = 0; i < n * bytes; i += bytes) {
    if (padding && now != nullptr && (fields.size() > 1 || fields[0].bytes != bytes))
      memcpy(to + i, now + i, bytes);
    for (const Field& f : fields) memcpy(to + i + f.at, from.data() + i + f.at, f.bytes);
  }
}

Handle make_op(Op op) {
  const MPI_Op predefined[] = {MPI_SUM,  MPI_PROD, MPI_MIN, MPI_MAX,  MPI_LAND,   MPI_LOR,
                               MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  if (op < kAdd) return {predefined[op], false};
  MPI_Op made;
  if (op == kAdd) MUST(MPI_Op_create(user<kAdd, sizeof(int)>, 1, &made));
  if (op == kMatrix) MUST(MPI_Op_create(user<kMatrix, kMatrixBytes>, 0, &made));
  if (op == kAffine) MUST(MPI_Op_create(user<kAffine, kAffineBytes>, 0, &made));
  return {made, true};
}

}  // namespace collectives
