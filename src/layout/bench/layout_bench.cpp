// The movers of src/layout against loops written by hand, on patterns of the DDTBench applications, one
// thread, data in cache as in a ping-pong. Prints microseconds (median of interleaved samples) and the ratio
// hand / layout: above 1 the layout is faster. Every mover's result is compared with the hand-written one.
//
//   layout_bench [pattern substring] [samples]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "layout/layout.h"

namespace tasuki::layout {
namespace {

struct Release {
  void operator()(const Layout* l) const { release(l); }
};
using LayoutPtr = std::unique_ptr<const Layout, Release>;

LayoutPtr hvector(uint64_t count, int64_t stride, uint64_t block) {
  const LayoutPtr dense(make_dense(block));
  return LayoutPtr(make_hvector(count, 1, stride, dense.get()));
}
LayoutPtr hvector(uint64_t count, int64_t stride, const LayoutPtr& child) {
  return LayoutPtr(make_hvector(count, 1, stride, child.get()));
}

// The hand-written side: what a programmer puts into his application, element type and loop order known.
template <typename T>
[[gnu::noinline]] void hand_rows(T* __restrict to, const T* __restrict from, int rows, int n, long to_row,
                                 long from_row, long to_step, long from_step) {
  for (int r = 0; r < rows; r++)
    for (int i = 0; i < n; i++) to[r * to_row + i * to_step] = from[r * from_row + i * from_step];
}
template <size_t N>
struct Bytes {
  char b[N];
};
template <typename T>
[[gnu::noinline]] void hand_gather(T* __restrict to, const T* __restrict from, const int* __restrict list,
                                   int n) {
  for (int i = 0; i < n; i++) to[i] = from[list[i]];
}
template <typename T>
[[gnu::noinline]] void hand_scatter(T* __restrict to, const T* __restrict from, const int* __restrict list,
                                    int n) {
  for (int i = 0; i < n; i++) to[list[i]] = from[i];
}
template <typename T>
[[gnu::noinline]] void hand_listed(T* __restrict to, const T* __restrict from, const int* __restrict list,
                                   int n) {
  for (int i = 0; i < n; i++) to[list[i]] = from[list[i]];
}
[[gnu::noinline]] void hand_blocks(char* __restrict to, const char* __restrict from, int n, size_t block,
                                   long to_step, long from_step) {
  for (int i = 0; i < n; i++) std::memcpy(to + i * to_step, from + i * from_step, block);
}

struct Pattern {
  std::string name;
  LayoutPtr layout;
  uint64_t count;
  size_t memory;
  std::function<void(char* packed, const char* memory)> pack;
  std::function<void(char* memory, const char* packed)> unpack;
  std::function<void(char* to, const char* from)> copy;
};

// rows x n elements of T in an array of doubles or the like; strides in elements.
template <typename T>
Pattern rows(std::string name, int rows_, int n, long row, long step) {
  Pattern p;
  p.name = std::move(name);
  const int64_t t = sizeof(T);
  p.layout =
      hvector(static_cast<uint64_t>(rows_), row * t, hvector(static_cast<uint64_t>(n), step * t, sizeof(T)));
  p.count = 1;
  p.memory = static_cast<size_t>(((rows_ - 1) * row + (n - 1) * step + 1) * t);
  p.pack = [=](char* to, const char* from) {
    hand_rows(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), rows_, n, n, row, 1, step);
  };
  p.unpack = [=](char* to, const char* from) {
    hand_rows(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), rows_, n, row, n, step, 1);
  };
  p.copy = [=](char* to, const char* from) {
    hand_rows(reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from), rows_, n, row, row, step, step);
  };
  return p;
}

Pattern blocks(std::string name, int n, size_t block, long stride) {
  Pattern p;
  p.name = std::move(name);
  p.layout = hvector(static_cast<uint64_t>(n), stride, block);
  p.count = 1;
  p.memory = static_cast<size_t>((n - 1) * stride) + block;
  p.pack = [=](char* to, const char* from) {
    hand_blocks(to, from, n, block, static_cast<long>(block), stride);
  };
  p.unpack = [=](char* to, const char* from) {
    hand_blocks(to, from, n, block, stride, static_cast<long>(block));
  };
  p.copy = [=](char* to, const char* from) { hand_blocks(to, from, n, block, stride, stride); };
  return p;
}

// Random but ascending atom or node numbers, as neighbour lists are.
std::shared_ptr<std::vector<int>> list(int n, int gap, unsigned seed) {
  std::mt19937 random(seed);
  auto l = std::make_shared<std::vector<int>>();
  for (int i = 0, at = 0; i < n; i++)
    l->push_back(at += 1 + static_cast<int>(random() % static_cast<unsigned>(gap)));
  return l;
}

template <size_t N>
void add_listed(Pattern& p, std::vector<LayoutPtr>& parts, std::vector<int64_t>& where,
                const std::shared_ptr<std::vector<int>>& l) {
  using T = std::conditional_t<N == 4, float, std::conditional_t<N == 8, double, Bytes<N>>>;
  const int64_t base = static_cast<int64_t>((p.memory + 63) / 64 * 64);
  const int64_t packed = parts.empty() ? 0 : where.back();
  std::vector<int64_t> d;
  for (const int i : *l) d.push_back(base + static_cast<int64_t>(i) * static_cast<int64_t>(N));
  const LayoutPtr dense(make_dense(N));
  parts.emplace_back(make_hindexed_block(d.size(), 1, d.data(), dense.get()));
  where.push_back(packed + static_cast<int64_t>(l->size() * N));
  p.memory = static_cast<size_t>(base) + static_cast<size_t>(l->back() + 1) * N;
  const int n = static_cast<int>(l->size());
  const auto before_pack = p.pack, before_copy = p.copy;
  const auto before_unpack = p.unpack;
  p.pack = [=](char* to, const char* from) {
    if (before_pack) before_pack(to, from);
    hand_gather(reinterpret_cast<T*>(to + packed), reinterpret_cast<const T*>(from + base), l->data(), n);
  };
  p.unpack = [=](char* to, const char* from) {
    if (before_unpack) before_unpack(to, from);
    hand_scatter(reinterpret_cast<T*>(to + base), reinterpret_cast<const T*>(from + packed), l->data(), n);
  };
  p.copy = [=](char* to, const char* from) {
    if (before_copy) before_copy(to, from);
    hand_listed(reinterpret_cast<T*>(to + base), reinterpret_cast<const T*>(from + base), l->data(), n);
  };
}

template <size_t... N>
Pattern listed(std::string name, int n, int gap) {
  Pattern p;
  p.name = std::move(name);
  p.count = 1;
  p.memory = 0;
  std::vector<LayoutPtr> parts;
  std::vector<int64_t> where;
  const auto l = list(n, gap, 7);
  (add_listed<N>(p, parts, where, l), ...);
  std::vector<uint64_t> lengths(parts.size(), 1);
  std::vector<int64_t> zero(parts.size(), 0);
  std::vector<const Layout*> children;
  for (const LayoutPtr& part : parts) children.push_back(part.get());
  p.layout.reset(make_struct(parts.size(), lengths.data(), zero.data(), children.data()));
  return p;
}

// The transposed side of a 2-D FFT: columns of an n x n matrix of complex, one element per column.
Pattern transpose(std::string name, int n, int columns) {
  using Complex = Bytes<16>;
  Pattern p;
  p.name = std::move(name);
  const LayoutPtr column = hvector(static_cast<uint64_t>(n), 16L * n, size_t{16});
  p.layout.reset(make_resized(0, 16, column.get()));
  p.count = static_cast<uint64_t>(columns);
  p.memory = 16UL * static_cast<size_t>(n) * static_cast<size_t>(n);
  p.pack = [=](char* to, const char* from) {
    hand_rows(reinterpret_cast<Complex*>(to), reinterpret_cast<const Complex*>(from), columns, n, n, 1, 1, n);
  };
  p.unpack = [=](char* to, const char* from) {
    hand_rows(reinterpret_cast<Complex*>(to), reinterpret_cast<const Complex*>(from), columns, n, 1, n, n, 1);
  };
  p.copy = [=](char* to, const char* from) {
    hand_rows(reinterpret_cast<Complex*>(to), reinterpret_cast<const Complex*>(from), columns, n, 1, 1, n, n);
  };
  return p;
}

// Array of C structs with gaps: 4 + 8 + 1 bytes used of 24.
Pattern records(std::string name, int n) {
  struct Record {
    int a;
    double b;
    char c;
  };
  Pattern p;
  p.name = std::move(name);
  const LayoutPtr four(make_dense(4)), eight(make_dense(8)), one(make_dense(1));
  const uint64_t lengths[] = {1, 1, 1};
  const int64_t where[] = {0, 8, 16};
  const Layout* const children[] = {four.get(), eight.get(), one.get()};
  const LayoutPtr fields(make_struct(3, lengths, where, children));
  p.layout.reset(make_resized(0, sizeof(Record), fields.get()));
  p.count = static_cast<uint64_t>(n);
  p.memory = sizeof(Record) * static_cast<size_t>(n);
  p.pack = [=](char* to, const char* from) {
    const Record* r = reinterpret_cast<const Record*>(from);
    for (int i = 0; i < n; i++, to += 13) {
      std::memcpy(to, &r[i].a, 4);
      std::memcpy(to + 4, &r[i].b, 8);
      to[12] = r[i].c;
    }
  };
  p.unpack = [=](char* to, const char* from) {
    Record* r = reinterpret_cast<Record*>(to);
    for (int i = 0; i < n; i++, from += 13) {
      std::memcpy(&r[i].a, from, 4);
      std::memcpy(&r[i].b, from + 4, 8);
      r[i].c = from[12];
    }
  };
  p.copy = [=](char* to, const char* from) {
    Record* a = reinterpret_cast<Record*>(to);
    const Record* b = reinterpret_cast<const Record*>(from);
    for (int i = 0; i < n; i++) {
      a[i].a = b[i].a;
      a[i].b = b[i].b;
      a[i].c = b[i].c;
    }
  };
  return p;
}

std::vector<Pattern> patterns() {
  std::vector<Pattern> p;
  p.push_back(blocks("LU_x 40800", 1, 40800, 40800));
  p.push_back(blocks("LU_y 4080", 102, 40, 40 * 104));
  p.push_back(blocks("LU_y 40800", 1020, 40, 40 * 1022));
  p.push_back(rows<double>("MG_x 8192", 32, 32, 34 * 34, 34));
  p.push_back(rows<double>("MG_x 32768", 64, 64, 66 * 66, 66));
  p.push_back(blocks("MG_y 32768", 64, 512, 66 * 66 * 8));
  p.push_back(blocks("MG_y 1048576", 512, 2048, 258 * 34 * 8));
  p.push_back(blocks("MG_z 262144", 256, 1024, 130 * 8));
  p.push_back(blocks("MILC 98304", 128, 768, 1536));
  p.push_back(rows<Bytes<12>>("WRF_x_vec 63168", 28, 188, 300 * 70, 70));
  p.push_back(rows<Bytes<12>>("WRF_x_vec 8064", 28, 24, 36 * 22, 22));
  p.push_back(blocks("WRF_y 90804", 84, 1081, 70000));
  p.push_back(transpose("FFT2 1048576", 512, 128));
  p.push_back(transpose("FFT2 65536", 128, 32));
  p.push_back(rows<Bytes<20>>("SPEC_mt 91200", 4, 1140, 1140 * 3, 3));
  p.push_back(listed<4>("SPEC_oc 12900", 3225, 30));
  p.push_back(listed<12, 12>("SPEC_cm 177672", 7403, 12));
  p.push_back(listed<24, 4, 4, 4, 8, 24>("LAMMPS_full 195968", 2882, 3));
  p.push_back(listed<24, 4, 8>("LAMMPS_atomic 11664", 324, 3));
  p.push_back(records("records 13000", 1000));
  return p;
}

double seconds(const std::function<void()>& work, int repeat) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeat; i++) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repeat;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

struct Pair {
  double hand, ours;
};

Pair race(const std::function<void()>& hand, const std::function<void()>& ours, int samples) {
  const int repeat = std::max(1, static_cast<int>(100e-6 / std::max(1e-8, seconds(hand, 3))));
  std::vector<double> a, b;
  for (int i = 0; i < samples; i++) {
    a.push_back(seconds(hand, repeat));
    b.push_back(seconds(ours, repeat));
  }
  return {median(a), median(b)};
}

[[noreturn]] void wrong(const Pattern& p, const char* what) {
  std::fprintf(stderr, "layout_bench: %s: %s moved wrong bytes\n", p.name.c_str(), what);
  std::exit(1);
}

void measure(const Pattern& p, int samples, double geomean[3], int& n) {
  const uint64_t packed = size(p.layout.get()) * p.count;
  std::vector<char> a(p.memory + 64), b(p.memory + 64), c(p.memory + 64), out(packed), out2(packed);
  std::mt19937 random(1);
  for (char& x : a) x = static_cast<char>(random());
  const Region ra{a.data(), p.count, p.layout.get()}, rb{b.data(), p.count, p.layout.get()};
  p.pack(out.data(), a.data());
  pack(out2.data(), ra, 0, packed);
  if (out != out2) wrong(p, "pack");
  p.unpack(c.data(), out.data());
  unpack(rb, 0, packed, out.data());
  if (b != c) wrong(p, "unpack");
  std::fill(b.begin(), b.end(), 0);
  copy(rb, ra, 0, packed);
  if (b != c) wrong(p, "copy");

  const Pair one =
      race([&] { p.pack(out.data(), a.data()); }, [&] { pack(out.data(), ra, 0, packed); }, samples);
  const Pair two =
      race([&] { p.unpack(a.data(), out.data()); }, [&] { unpack(ra, 0, packed, out.data()); }, samples);
  const Pair three = race([&] { p.copy(b.data(), a.data()); }, [&] { copy(rb, ra, 0, packed); }, samples);
  const Pair all[] = {one, two, three};
  std::printf("%-22s", p.name.c_str());
  for (int i = 0; i < 3; i++) {
    std::printf(" |%8.2f %8.2f %5.2f", all[i].hand * 1e6, all[i].ours * 1e6, all[i].hand / all[i].ours);
    geomean[i] += std::log(all[i].hand / all[i].ours);
  }
  char text[120];
  describe(p.layout.get(), text, sizeof text);
  std::printf(" | %s\n", text);
  n++;
}

// Different layouts on both sides: the hand-written way packs and unpacks.
void measure_mixed(const Pattern& from, const Pattern& to, int samples) {
  const uint64_t packed = size(from.layout.get()) * from.count;
  if (size(to.layout.get()) * to.count != packed) wrong(to, "the bench (sizes differ)");
  std::vector<char> a(from.memory + 64), b(to.memory + 64), c(to.memory + 64), out(packed);
  std::mt19937 random(1);
  for (char& x : a) x = static_cast<char>(random());
  const Region ra{a.data(), from.count, from.layout.get()}, rb{b.data(), to.count, to.layout.get()};
  const auto by_hand = [&] {
    from.pack(out.data(), a.data());
    to.unpack(c.data(), out.data());
  };
  by_hand();
  copy(rb, ra, 0, packed);
  if (b != c) wrong(from, "copy to another layout");
  const Pair p = race(
      by_hand, [&] { copy(rb, ra, 0, packed); }, samples);
  std::printf("%-22s -> %-22s |%8.2f %8.2f %5.2f\n", from.name.c_str(), to.name.c_str(), p.hand * 1e6,
              p.ours * 1e6, p.hand / p.ours);
}

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  const int samples = argc > 2 ? std::atoi(argv[2]) : 21;
  std::printf("%-22s | pack: hand us, layout us, ratio | unpack | copy\n", "pattern, bytes");
  double geomean[3] = {};
  int n = 0;
  for (const Pattern& p : patterns())
    if (p.name.find(only) != std::string::npos) measure(p, samples, geomean, n);
  if (n > 0) {
    std::printf("%-22s", "geometric mean");
    for (const double g : geomean) std::printf(" |%18s%5.2f", "", std::exp(g / n));
    std::printf("\n");
  }
  if (!only.empty() && only != "mixed") return 0;
  std::printf("\ncopy between different layouts: pack and unpack by hand us, layout us, ratio\n");
  const auto both = [samples](const Pattern& x, const Pattern& y) {
    measure_mixed(x, y, samples);
    measure_mixed(y, x, samples);
  };
  both(rows<double>("MG_x 32768", 64, 64, 66 * 66, 66), blocks("64 x 512 B", 64, 512, 34848));
  both(rows<double>("MG_x 32768", 64, 64, 66 * 66, 66), blocks("2048 x 16 B", 2048, 16, 48));
  both(rows<double>("MG_x 32768", 64, 64, 66 * 66, 66), blocks("4096 x 8 B", 4096, 8, 1024));
  both(rows<double>("MG_x 32768", 64, 64, 66 * 66, 66), rows<double>("32 x 128 x 8 B", 32, 128, 9000, 20));
  both(rows<double>("MG_x 32768", 64, 64, 66 * 66, 66), listed<8>("listed 4096 x 8 B", 4096, 5));
  both(blocks("819 x 40 B", 819, 40, 4160), listed<8>("listed 4095 x 8 B", 4095, 5));
  both(blocks("128 x 768 B", 128, 768, 1536), blocks("64 x 1536 B", 64, 1536, 5000));
  both(blocks("96 x 1024 B", 96, 1024, 1536), blocks("128 x 768 B", 128, 768, 5000));
  both(blocks("324 x 36 B", 324, 36, 100), listed<24, 4, 8>("LAMMPS_atomic 11664", 324, 3));
  both(transpose("FFT2 65536", 128, 32), blocks("32 x 2048 B", 32, 2048, 4096));
  both(transpose("FFT2 65536", 128, 32), blocks("512 x 128 B", 512, 128, 1024));
  both(records("records 13000", 1000), blocks("250 x 52 B", 250, 52, 100));
  return 0;
}

}  // namespace
}  // namespace tasuki::layout

int main(int argc, char** argv) {
  return tasuki::layout::main(argc, argv);
}
