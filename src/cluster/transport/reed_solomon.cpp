#include "cluster/transport/reed_solomon.h"

#include <dlfcn.h>
#include <isa-l/erasure_code.h>

#include <cstring>
#include <string>
#include <type_traits>

namespace tasuki::cluster {
namespace {

constexpr const char* kLibrary = "libisal.so.2";

// ISA-L does not say const; it writes to none of its sources.
unsigned char* bytes_of(const std::byte* p) {
  return reinterpret_cast<unsigned char*>(const_cast<std::byte*>(p));
}

template <class F>
bool find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

Result<std::unique_ptr<ReedSolomon>> ReedSolomon::load(Redundancy redundancy) {
  static_assert(std::is_same_v<MakeTables, decltype(&ec_init_tables)> &&
                std::is_same_v<Encode, decltype(&ec_encode_data)> &&
                std::is_same_v<Invert, decltype(&gf_invert_matrix)> &&
                std::is_same_v<Multiply, decltype(&gf_mul)>);
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Status::error(ENOENT, std::string("--erasure-code needs ISA-L, which cannot be loaded (") +
                                     dlerror() + "); on Debian: apt-get install libisal2");
  std::unique_ptr<ReedSolomon> code(new ReedSolomon(redundancy));
  decltype(&gf_gen_cauchy1_matrix) make_rows = nullptr;
  if (!find(library, "ec_init_tables", &code->make_tables_) ||
      !find(library, "ec_encode_data", &code->encode_) ||
      !find(library, "gf_invert_matrix", &code->invert_) || !find(library, "gf_mul", &code->multiply_) ||
      !find(library, "gf_gen_cauchy1_matrix", &make_rows))
    return Status::error(ENOENT, std::string("--erasure-code: ") + kLibrary +
                                     " lacks functions of ISA-L 2; on Debian: apt-get install libisal2");
  const int needed = static_cast<int>(code->needed_), parts = static_cast<int>(code->parts_);
  make_rows(code->rows_, parts, needed);
  code->make_tables_(needed, parts - needed, code->rows_ + needed * needed, code->tables_);
  return code;
}

void ReedSolomon::encode(size_t bytes, const std::byte* const* from, std::byte* const* to) const {
  unsigned char* sources[Redundancy::kMostNeeded];
  unsigned char* targets[Redundancy::kMostCopies];
  for (uint32_t i = 0; i < needed_; i++) sources[i] = bytes_of(from[i]);
  for (uint32_t i = 0; i < parts_ - needed_; i++) targets[i] = bytes_of(to[i]);
  encode_(static_cast<int>(bytes), static_cast<int>(needed_), static_cast<int>(parts_ - needed_),
          const_cast<unsigned char*>(tables_), sources, targets);
}

// With the rows of what is there as a matrix A, (first parts) = A^-1 (what is there).
void ReedSolomon::compute(uint32_t part, size_t bytes, const Parts& have, const std::byte* const* from,
                          std::byte* to) const {
  constexpr size_t kMost = Redundancy::kMostNeeded;
  const size_t n = needed_;
  unsigned char there[kMost * kMost], inverse[kMost * kMost], row[kMost] = {}, tables[kMost * kTableBytes];
  for (size_t i = 0; i < n; i++) memcpy(there + i * n, rows_ + have[i] * n, n);
  invert_(there, inverse, static_cast<int>(n));  // whichever rows they are, it can be inverted
  if (part < n) {
    memcpy(row, inverse + part * n, n);
  } else {
    for (size_t column = 0; column < n; column++)
      for (size_t i = 0; i < n; i++) row[column] ^= multiply_(rows_[part * n + i], inverse[i * n + column]);
  }
  make_tables_(static_cast<int>(n), 1, row, tables);
  unsigned char* sources[kMost];
  for (size_t i = 0; i < n; i++) sources[i] = bytes_of(from[i]);
  unsigned char* target = bytes_of(to);
  encode_(static_cast<int>(bytes), static_cast<int>(n), 1, tables, sources, &target);
}

}  // namespace tasuki::cluster
