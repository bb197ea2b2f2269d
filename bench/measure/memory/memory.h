// The programs memory-<kind>: the same kernels on memory of different kinds, for `tasuki bench memory`.
//
//   memory-plain        malloc, and (--folder) a mapped file of that folder
//   memory-dlm-<mpi>    cluster memory (tasuki/dlm.h); settings of the pager behind "--"
//   memory-umap         LLNL UMap over a file (--folder), where that library is installed
//
// A kernel takes its arrays from memory_get() alone. It repeats steps that the program times one by one, and
// says in the end whether its results are right, by a closed form or by computing them once more another way.
// Results depend neither on the kind of memory nor on the number of threads, to the last bit: the driver
// compares checksums too.
#ifndef TASUKI_BENCH_MEMORY_H
#define TASUKI_BENCH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// ---- memory
// Each kind of memory is one file, memory_<kind>.c:
// First call of the program. What belongs to the kind is removed from the arguments.
void memory_kind_start(int* argc, char*** argv);
// `folder` is for files, NULL if none was named.
const char* memory_kind(const char* folder);
void* memory_kind_get(const char* folder, size_t bytes);  // NULL and errno
// Counters so far, as doubles in the order of memory_kind_counter(); returns how many there are, 0 without
// any.
int memory_kind_counters(double* values, int most);
const char* memory_kind_counter(int i, bool* level);  // its name; is it a level rather than a count?
int memory_kind_end(int code);                        // last call; returns the exit code

// Memory of the kind chosen, of any content, aligned to 64 bytes. Ends the program if there is none.
void* memory_get(size_t bytes);

// ---- kernels
enum { kMostParts = 4, kMostResults = 5 };

struct memory_result {  // what a kernel computed: goes into the checksum
  void* data;
  size_t bytes;
};

struct memory_kernel {
  const char* name;
  const char* sizes;              // what --size takes, for people
  const char* size;               // the default
  const char* parts[kMostParts];  // what a repetition times one by one; {NULL}: one nameless part
  // Makes the arrays of a size and fills them. False: there is no such size.
  bool (*setup)(const char* size);
  // One repetition of a part; `repetition` counts from 0, the untimed ones included.
  void (*step)(int part, int repetition);
  double (*bytes)(int part);       // read and written by the program in a step, as the benchmark counts them
  double (*operations)(int part);  // floating point operations or accesses in a step
  // After the last step. Writes what is wrong to `failure` and returns false.
  bool (*check)(int repetitions, char* failure, size_t size);
  int (*results)(struct memory_result* results);  // at most kMostResults
};

extern const struct memory_kernel kStream, kHimeno, kHimenoDouble, kMatvec, kRandomUpdate, kRandomRead, kIs,
    kCg, kMg, kFt, kBt, kSp, kLu, kEp;

// ---- what kernels share
// "768MiB", "4K", "1000". False: not a number of bytes.
bool parse_size(const char* text, uint64_t* bytes);
// Of a class letter as the NAS Parallel Benchmarks name their sizes: 0.. for S, W, A, B, C, D; -1: none.
int npb_class(const char* size);

static inline uint64_t mix(uint64_t x) {  // splitmix64's finaliser: a bijection that scatters
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
// In [0, 1), from the bits of mix(x).
static inline double unit(uint64_t x) {
  return (double)(mix(x) >> 11) * 0x1p-53;
}
// The NAS Parallel Benchmarks' generator (RNR-94-007, section 2.3): x := 5^13 x mod 2^46; returns x 2^-46.
static inline double npb_random(uint64_t* x) {
  *x = (*x * 1220703125u) & ((UINT64_C(1) << 46) - 1);
  return (double)*x * 0x1p-46;
}
enum { kNpbSeed = 314159265 };

#endif
