// The patterns of bench/measure/ddt as expressions. What is read there from the code of MPI calls is written
// here once more, without MPI; test/bench compares the sizes.
#include <strings.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "layout/expression.h"

namespace tasuki::layout {
namespace {

using Sizes = std::vector<int64_t>;
using I = long long;

[[gnu::format(printf, 1, 2)]] std::string print(const char* format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return text;
}

// Arrays lie one behind the other, each on a cache line, with a guard between them (bench/measure/ddt).
class Arrays {
 public:
  int64_t place(int64_t bytes) {
    const int64_t at = first_ ? 0 : (end_ + 512 + 63) / 64 * 64;
    first_ = false;
    end_ = at + bytes;
    return at;
  }

 private:
  bool first_ = true;
  int64_t end_ = 0;
};

// The same distinct numbers below `limit` in every run: see random_list() in bench/measure/ddt/instance.c.
std::string random_list(int64_t count, int64_t limit, uint64_t seed, int64_t scale) {
  const auto random = [&seed] {
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  };
  Sizes all(static_cast<size_t>(limit));
  for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<int64_t>(i);
  std::string text = "[";
  for (size_t i = 0; i < static_cast<size_t>(count); i++) {
    std::swap(all[i], all[i + random() % (all.size() - i)]);
    text += (i ? ", " : "") + std::to_string(all[i] * scale);
  }
  return text + "]";
}

PatternExpressions wrf(const Sizes& n, bool along_x, bool subarrays) {
  const int64_t mi = n[0], mk = n[1], mj = n[2], ni = n[4], nj = n[6];
  const auto side = [&](int64_t i0, int64_t j0) {
    Arrays arrays;
    std::string members;
    for (int f = 0; f < 9; f++) {
      const int64_t levels = f < 4 ? 1 : mk, scalars = f < 7 ? 1 : 2;
      const int64_t at = arrays.place(mi * levels * mj * scalars * 4);
      const int64_t skip = (scalars - 1) * mi * mk * mj;
      const int64_t first = at + (skip + j0 * levels * mi + i0) * 4;
      std::string field;
      if (subarrays && f < 4)
        field = print("subarray([%lld, %lld], [%lld, %lld], [%lld, %lld], float)@%lld", I(mj), I(mi), I(nj),
                      I(ni), I(j0), I(i0), I(at));
      else if (subarrays)
        field = print(
            "subarray([%lld, %lld, %lld, %lld], [1, %lld, %lld, %lld], [%lld, %lld, 0, %lld], float)@%lld",
            I(scalars), I(mj), I(mk), I(mi), I(nj), I(mk), I(ni), I(scalars - 1), I(j0), I(i0), I(at));
      else if (f < 4)
        field = print("vector(%lld, %lld, %lld, float)@%lld", I(nj), I(ni), I(mi), I(first));
      else
        field = print("hvector(%lld, 1, %lld, vector(%lld, %lld, %lld, float))@%lld", I(nj), I(mi * mk * 4),
                      I(mk), I(ni), I(mi), I(first));
      members += (f ? "; " : "") + field;
    }
    return "struct{" + members + "}";
  };
  return {side(n[3], n[5]), along_x ? side(n[3] + n[4], n[5]) : side(n[3], n[5] - n[6])};
}
PatternExpressions wrf_x_vec(const Sizes& n) {
  return wrf(n, true, false);
}
PatternExpressions wrf_y_vec(const Sizes& n) {
  return wrf(n, false, false);
}
PatternExpressions wrf_x_sa(const Sizes& n) {
  return wrf(n, true, true);
}
PatternExpressions wrf_y_sa(const Sizes& n) {
  return wrf(n, false, true);
}
PatternExpressions twice(const std::string& type) {
  return {type, type};
}
PatternExpressions milc(const Sizes& n) {
  const int64_t half = n[0] * n[1] / 2, z = n[2], t = n[3];
  return twice(print("hvector(2, 1, %lld, vector(%lld, %lld, %lld, float[6]))", I(24 * half * z * t), I(t),
                     I(half), I(half * z)));
}
PatternExpressions lu_x(const Sizes& n) {
  return twice(print("contiguous(%lld, double)", I(5 * n[0])));
}
PatternExpressions lu_y(const Sizes& n) {
  return twice(print("vector(%lld, 1, %lld, double[5])", I(n[1]), I(n[0] + 2)));
}
PatternExpressions mg_x(const Sizes& n) {
  return twice(print("hvector(%lld, 1, %lld, vector(%lld, 1, %lld, double))", I(n[2] - 2), I(n[0] * n[1] * 8),
                     I(n[1] - 2), I(n[0])));
}
PatternExpressions mg_y(const Sizes& n) {
  return twice(print("vector(%lld, %lld, %lld, double)", I(n[2] - 2), I(n[0] - 2), I(n[0] * n[1])));
}
PatternExpressions mg_z(const Sizes& n) {
  return twice(print("vector(%lld, %lld, %lld, double)", I(n[1] - 2), I(n[0] - 2), I(n[0])));
}
PatternExpressions fft2(const Sizes& n) {
  const int64_t half = n[0] / 2;
  return {print("contiguous(%lld, resized(0, 16, vector(%lld, 1, %lld, double_complex)))", I(half), I(half),
                I(n[0])),
          print("vector(%lld, %lld, %lld, double_complex)", I(half), I(half), I(n[0]))};
}
PatternExpressions specfem_mt(const Sizes& n) {
  return {print("vector(%lld, 1, 2, float[3])", I(n[0])), print("contiguous(%lld, float)", I(3 * n[0]))};
}
PatternExpressions specfem_oc(const Sizes& n) {
  return twice("indexed_block(1, " + random_list(n[1], n[0], 0x5bec0000u, 1) + ", float)");
}
PatternExpressions specfem_cm(const Sizes& n) {
  Arrays arrays;
  std::string members;
  for (size_t r = 0; r < 2; r++) {
    const int64_t at = arrays.place(n[2 * r] * 12);
    members += (r ? "; " : "") +
               ("indexed_block(3, " + random_list(n[2 * r + 1], n[2 * r], 0x5bec0000u + r, 3)) + ", float)@" +
               std::to_string(at);
  }
  return twice("struct{" + members + "}");
}
PatternExpressions lammps(const Sizes& n, int fields) {
  Arrays arrays;
  std::string send, receive;
  for (int a = 0; a < fields; a++) {
    const int64_t width = a == 0 ? 3 : 1, at = arrays.place((n[0] + n[1]) * width * 8);
    send += (a ? "; " : "") + ("indexed_block(" + std::to_string(width)) + ", " +
            random_list(n[1], n[0], 0x1a77, width) + ", double)@" + std::to_string(at);
    receive += (a ? "; " : "") + print("double[%lld]@%lld", I(n[1] * width), I(at + n[0] * width * 8));
  }
  return {"struct{" + send + "}", "struct{" + receive + "}"};
}
PatternExpressions lammps_full(const Sizes& n) {
  return lammps(n, 6);
}
PatternExpressions lammps_atomic(const Sizes& n) {
  return lammps(n, 4);
}

using Make = PatternExpressions (*)(const Sizes&);
constexpr Make kMake[] = {wrf_x_vec,  wrf_y_vec,  wrf_x_sa,    wrf_y_sa,     milc, lu_x,
                          lu_y,       mg_x,       mg_y,        mg_z,         fft2, specfem_mt,
                          specfem_oc, specfem_cm, lammps_full, lammps_atomic};

Sizes numbers_in(const char* text) {
  std::istringstream in(text);
  Sizes sizes;
  for (int64_t n; in >> n;) sizes.push_back(n);
  return sizes;
}

constexpr const char* kWrfParameters = "i k j i0 ni j0 nj";

}  // namespace

const NamedPattern kPatterns[] = {
    {"WRF_x_vec", kWrfParameters, "24 65 34 14 3 4 26"},
    {"WRF_y_vec", kWrfParameters, "32 65 52 5 23 7 3"},
    {"WRF_x_sa", kWrfParameters, "24 65 34 14 3 4 26"},
    {"WRF_y_sa", kWrfParameters, "32 65 52 5 23 7 3"},
    {"MILC_su3_zd", "x y z t", "8 16 16 16"},
    {"NAS_LU_x", "x y", "102 102"},
    {"NAS_LU_y", "x y", "102 102"},
    {"NAS_MG_x", "x y z", "130 66 66"},
    {"NAS_MG_y", "x y z", "258 130 130"},
    {"NAS_MG_z", "x y z", "258 130 130"},
    {"FFT2", "order", "512"},
    {"SPECFEM3D_mt", "points", "7600"},
    {"SPECFEM3D_oc", "points boundary", "88881 3225"},
    {"SPECFEM3D_cm", "points boundary points2 boundary2", "39929 1957 1225 245"},
    {"LAMMPS_full", "own border", "1907 1662"},
    {"LAMMPS_atomic", "own border", "4084 243"},
};
const size_t kPatternCount = std::size(kPatterns);

const NamedPattern* find_pattern(std::string_view name) {
  for (const NamedPattern& p : kPatterns)
    if (strcasecmp(p.name, std::string(name).c_str()) == 0) return &p;
  return nullptr;
}

Result<PatternExpressions> pattern_expressions(const NamedPattern& pattern,
                                               const std::vector<int64_t>& sizes) {
  constexpr int64_t kMost = 1 << 20;
  const Sizes defaults = numbers_in(pattern.defaults);
  if (!sizes.empty() && sizes.size() != defaults.size())
    return Status::error(EINVAL, std::string(pattern.name) + " takes " + std::to_string(defaults.size()) +
                                     " sizes (" + pattern.parameters + "), " + std::to_string(sizes.size()) +
                                     " were given");
  const Sizes& n = sizes.empty() ? defaults : sizes;
  for (const int64_t size : n)
    if (size < 0 || size > kMost)
      return Status::error(
          EINVAL, "a size of " + std::string(pattern.name) + " must lie in 0.." + std::to_string(kMost));
  const bool lists =
      strncasecmp(pattern.name, "SPECFEM3D_", 10) == 0 || strncasecmp(pattern.name, "LAMMPS", 6) == 0;
  for (size_t i = 1; lists && i < n.size(); i += 2)
    if (n[i] > n[i - 1])
      return Status::error(EINVAL, std::string(pattern.name) + ": cannot pick " + std::to_string(n[i]) +
                                       " of " + std::to_string(n[i - 1]));
  return kMake[&pattern - kPatterns](n);
}

}  // namespace tasuki::layout
