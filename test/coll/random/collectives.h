// The random program about blocking collective operations: what its parts share.
//
// The words: a *plan* is what all ranks of a communicator derive from the seed, so every rank can compute
// what every other rank gives. A *unit* is the shortest part of a type signature that is repeated, for
// example "double, int"; a *group* is that many units that the counts of all ranks can be expressed in. An
// *item* is what a rank's count counts: one element of its type, with as many units as the rank likes. A
// *slot* is the place of an item in a buffer. An *image* is a buffer with its guards, as it is or as it
// should be.
//
// Chapters and sections are those of MPI-4.0.
#pragma once

// The old C++ bindings, which do not compile without warnings.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "../../types/random.h"

namespace collectives {

using types::Random;
using Bytes = std::vector<unsigned char>;

#ifdef OPEN_MPI
constexpr bool kOpenMpi = true;
#else
constexpr bool kOpenMpi = false;
#endif

// The bytes that are the value of a number; what follows in a long double of x86-64 is padding, which need
// not be transferred. (Elsewhere a long double has none.)
template <typename T>
inline constexpr int kValueBytes = LDBL_MANT_DIG == 64 && std::is_same_v<T, long double> ? 10 : sizeof(T);

struct Job {
  int rank = 0, ranks = 1;
  uint64_t seed = 1;
  bool threads = false;
  bool apart = false;       // on several hosts
  bool large = false;       // pieces as operations between hosts are for
  bool later = false;       // what moves data does so in non-blocking operations,
  bool persistent = false;  //   which are persistent
  bool verbose = false;     // every rank says what it is about to do
  bool one_clock = false;   // all ranks are on one machine: CLOCK_MONOTONIC orders what they do
};
extern Job job;

enum Kind {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kKinds
};
extern const char* const kind_names[kKinds];

// A communicator as one of its members sees it.
struct Comm {
  const char* name = "";
  MPI_Comm handle = MPI_COMM_NULL;  // of no member
  int colour = 0;                   // the part of a split
  int rank = 0, size = 1;
};

// Where this thread is: for whoever reads of a wrong result, and for the answer to SIGALRM.
__attribute__((format(printf, 1, 2))) void tell(const char* format, ...);
// One line, or more, about this rank, if that is asked for.
void say(const std::string& what);
[[noreturn]] void fail(const std::string& what);
// Every communicator has MPI_ERRORS_RETURN, so that an error is told with seed and round.
void must(int code, const char* call);
#define MUST(call) ::collectives::must((call), #call)
// Open MPI 5 has the persistent ones, and says that it is MPI-3.1.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAVE_PERSISTENT 1
constexpr bool kHasPersistent = true;
#else
constexpr bool kHasPersistent = false;
#endif

// How one operation is called, and its request.
struct Way {
  bool later = job.later, persistent = job.persistent;
  int starts = 1;  // of a persistent one
  MPI_Request request = MPI_REQUEST_NULL;
};
#ifdef HAVE_PERSISTENT
#define MUST_EITHER(way, now, later_now, ...)                       \
  do {                                                              \
    if (!(way).later)                                               \
      MUST(now(__VA_ARGS__));                                       \
    else if (!(way).persistent)                                     \
      MUST(later_now(__VA_ARGS__, &(way).request));                 \
    else                                                            \
      MUST(now##_init(__VA_ARGS__, MPI_INFO_NULL, &(way).request)); \
  } while (0)
#else
#define MUST_EITHER(way, now, later_now, ...)       \
  do {                                              \
    if (!(way).later)                               \
      MUST(now(__VA_ARGS__));                       \
    else                                            \
      MUST(later_now(__VA_ARGS__, &(way).request)); \
  } while (0)
#endif

double now();

inline int draw(Random& random, int64_t low, int64_t high) {
  return static_cast<int>(random.between(low, high));
}

inline uint64_t word_of(uint64_t seed, uint64_t i) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  return z ^ (z >> 29);
}
Bytes random_bytes(uint64_t seed, size_t first, size_t n);  // bytes first.. of an endless sequence

// How many bytes a rank has for each other one: mostly few, now and then 2 MiB for all together.
size_t draw_bytes(Random& plan, int ranks);

// Collective operations on data that is only moved (moves.cpp) and on data that is combined (reductions.cpp).
// `plan` is the same on all members, `own` is not.
void move(Kind kind, Random& plan, Random& own, const Comm& comm);
void reduce(Kind kind, Random& plan, Random& own, const Comm& comm);
void reduce_twice(Random& plan, Random& own, const Comm& comm);
void scan_twice(Random& plan, Random& own, const Comm& comm);
void barrier(const Comm& comm);
void check_negative_count(const Comm& comm);

// Sees an operation that does not block to its end, in one of several ways. A persistent one is started
// several times; before each start but the first again() makes its buffers what they were.
void complete_once(Random& own, Way& way);
template <typename Again>
void complete(Random& own, Way& way, Again again) {
  if (!way.later) return;
  if (!way.persistent) return complete_once(own, way);
  for (int i = 0; i < way.starts; i++) {
    if (i > 0) again();
    MUST(MPI_Start(&way.request));
    complete_once(own, way);
  }
  MUST(MPI_Request_free(&way.request));
}
// For whoever asks for persistent operations where there are none: true, and that is told.
inline bool must_skip() {
  if (!job.persistent || kHasPersistent) return false;
  if (job.rank == 0) printf("SKIP: no persistent collective operations\n");
  return true;
}

// Point-to-point messages that are under way meanwhile.
class Messages {
 public:
  Messages(Random& plan, Random& own, const Comm& comm);
  void finish();
  long count() const { return static_cast<long>(messages_.size()); }

 private:
  struct Message {
    Bytes out, in;
    int tag = 0;
    bool early = false, wild = false;  // the receive is posted before the operation; it takes any message
    MPI_Request sent = MPI_REQUEST_NULL, received = MPI_REQUEST_NULL;
  };
  void receive(Message& m);
  const Comm& comm_;
  uint64_t fill_;
  std::vector<Message> messages_;
};

// The communicators of one thread. Collective over `parent`, which has the ranks of MPI_COMM_WORLD.
std::vector<Comm> make_comms(Random& plan, MPI_Comm parent, bool with_world);
void free_comms(std::vector<Comm>& comms);

}  // namespace collectives
