// The random MPI program of the stress command: what its parts share.
//
// All ranks derive the same plan from the same seed, so each knows what every message must hold, where each wildcard may
// match, and which call must fail how. A part plans one round on one communicator, carries it out and judges it; it may be
// called by several threads at the same time, each with a communicator of its own.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "../types/random.h"

namespace stress {

using types::Random;

constexpr int64_t kMostMixedOfLibraries = 900;

struct Job {
  int rank = 0, ranks = 1;
  uint64_t seed = 1;
  bool tasuki = false;    // the messages are Tasuki's
  bool threads = false;   // MPI_THREAD_MULTIPLE was asked for and given
  bool multiple = false;  // several threads are in parts right now
  // Bytes of the longest message of mixed types: most_mixed() is to be asked. Plain Open MPI 4.1 overruns a temporary when an element is cut between two
  // fragments, plain MPICH 4.0 over UCX takes long structs for truncated.
  int64_t most_mixed = kMostMixedOfLibraries;
};
extern Job job;

// This thread's messages go on a communicator that Tasuki leaves to the library: what the library cannot do must not be asked for.
extern thread_local bool passed_on;
inline int64_t most_mixed() {
  return passed_on ? std::min<int64_t>(job.most_mixed, kMostMixedOfLibraries) : job.most_mixed;
}

// What was done, for the line of figures at the end.
struct Figures {
  std::atomic<uint64_t> messages{0}, bytes{0}, collectives{0}, epochs{0}, communicators{0}, errors{0};
};
extern Figures figures;

// Where this thread is, for the answer to SIGALRM.
void step(const char* what);

[[noreturn]] void fail(const char* file, int line, const std::string& what);

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) ::stress::fail(__FILE__, __LINE__, #condition); \
  } while (0)

#define CHECK_EQ(actual, expected)                                                              \
  do {                                                                                          \
    const long long a_ = static_cast<long long>(actual), e_ = static_cast<long long>(expected); \
    if (a_ != e_)                                                                               \
      ::stress::fail(__FILE__, __LINE__,                                                        \
                     #actual " is " + std::to_string(a_) + ", expected " + std::to_string(e_)); \
  } while (0)

// One round of a part. `random` gives the same numbers to all members of `comm`.
using Part = void (*)(Random& random, MPI_Comm comm);

void point_to_point(Random& random, MPI_Comm comm);
void streams(Random& random, MPI_Comm comm);
void persistent(Random& random, MPI_Comm comm);
void partitioned(Random& random, MPI_Comm comm);
void exchanges(Random& random, MPI_Comm comm);
void packs(Random& random, MPI_Comm comm);
void collectives(Random& random, MPI_Comm comm);
void nonblocking_collectives(Random& random, MPI_Comm comm);
void reductions(Random& random, MPI_Comm comm);
void communicators(Random& random, MPI_Comm comm);
void intercommunicators(Random& random, MPI_Comm comm);
void topologies(Random& random, MPI_Comm comm);
void windows(Random& random, MPI_Comm comm);
void locks(Random& random, MPI_Comm comm);
void atomics(Random& random, MPI_Comm comm);
void shared_windows(Random& random, MPI_Comm comm);
void errors(Random& random, MPI_Comm comm);

// Ends as `way` and `number` say; what it returns is for main to return. The ways that begin with before_init are for the first.
int end_before_init(const std::string& way, int number);
int end_by(const std::string& way, int number, Random& random);

inline int rank_in(MPI_Comm comm) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  return rank;
}
inline int size_of(MPI_Comm comm) {
  int size;
  MPI_Comm_size(comm, &size);
  return size;
}

// A generator of this rank alone: for what the others need not know (which request is completed first).
inline Random own(Random& random, MPI_Comm comm) {
  return Random(random.next() + 0x1234567u * static_cast<uint64_t>(rank_in(comm) + 1));
}

inline int draw(Random& random, int64_t low, int64_t high) {
  return static_cast<int>(random.between(low, high));
}

// Sizes at which protocols change count most.
inline int64_t draw_size(Random& random, int64_t most) {
  static const std::vector<int64_t> edges = {0,     1,     8,     20,     21,     64,   400,
                                             501,   2048,  2049,  4096,   4097,   8192, 9999,
                                             32768, 65536, 65537, 262144, 1 << 20};
  int64_t size = random.chance(60) ? random.pick(edges) + random.between(-1, 1) : random.between(0, 20000);
  return size < 0 ? 0 : size > most ? most : size;
}

#ifdef OPEN_MPI
constexpr bool kOpenMpi = true;
#else
constexpr bool kOpenMpi = false;
#endif

// Bytes that depend on the message and the place, so that a swapped, shifted or stale byte shows.
inline uint64_t word_of(uint64_t seed, uint64_t i) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  return z ^ (z >> 29);
}

}  // namespace stress
