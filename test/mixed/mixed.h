// The random MPI program about matching and ordering: what its parts share.
//
// The words: a *plan* is one round's schedule, which every rank derives from the seed: *messages*, and *steps* in which they are sent. A
// *pattern* is what a receive accepts (communicator, source, tag; each of the last two may be kAny). An *event* is one receive, probe or
// cancellation as this rank saw it; the *history* is all events of a round, and history.h says which histories MPI allows.
//
// Chapters and sections are those of MPI-4.0.
#pragma once

#include <mpi.h>
#include <time.h>

#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "../types/random.h"

namespace mixed {

using types::Random;

constexpr int kAny = -1;  // any source, any tag
// A message carries its own number in its first byte, so a round has fewer than 256.
constexpr int kMostMessages = 240;

#ifdef OPEN_MPI
constexpr bool kOpenMpi = true;
#else
constexpr bool kOpenMpi = false;
#endif

struct Job {
  int rank = 0, ranks = 1;
  uint64_t seed = 1;
  long round = -1;
  bool verbose = false;                                   // every round's plan
  size_t pending = 40;                                    // how many receives may be pending without need
  int steps = INT_MAX;                                    // the most in a round
  bool probes = true, cancels = true, persistent = true;  // are there such calls
  bool buffered = true;                                   // the same; see plan.cpp
  bool frees = true;                                      // communicators below what is pending; see rank.cpp
  int trace = -1;                                         // the rank that prints its steps
  bool threads = false;                                   // MPI_THREAD_MULTIPLE
  double reserved_limit =
      1e9;  // after so long (s) a synchronous send may be complete early; see check_synchronous()
  bool one_clock = false;  // all ranks are on one machine: CLOCK_MONOTONIC orders what they do
};
extern Job job;

// What was done, for the line of figures at the end: it shows that the program reaches what it is for.
enum Figure {
  kMessages,
  kWildcards,
  kNamed,
  kPosted,
  kRestarted,
  kProbed,
  kMatched,
  kCancelled,
  kNotCancelled,
  kTruncated,
  kDeferred,
  kLate,
  kExchanges,
  kReady,
  kCollectives,
  kFreedComms,
  kFigures
};
void count(Figure figure, int n = 1);

// Where this thread is, for the answer to SIGALRM.
__attribute__((format(printf, 1, 2))) void step(const char* format, ...);

[[noreturn]] void fail(const char* file, int line, const std::string& what);

// Every communicator has MPI_ERRORS_RETURN, so that an error is told with seed and round.
void must(int code, const char* call, const char* file, int line);

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) ::mixed::fail(__FILE__, __LINE__, #condition); \
  } while (0)
#define CHECK_THAT(condition, text)                              \
  do {                                                           \
    if (!(condition)) ::mixed::fail(__FILE__, __LINE__, (text)); \
  } while (0)
#define MUST(call) ::mixed::must((call), #call, __FILE__, __LINE__)

inline int draw(Random& random, int64_t low, int64_t high) {
  return static_cast<int>(random.between(low, high));
}

inline double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

inline uint64_t word_of(uint64_t seed, uint64_t i) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + i * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  return z ^ (z >> 29);
}

// A communicator, and who is who in it. All ranks know it, members or not. Ranks without further word are those of MPI_COMM_WORLD.
struct Comm {
  std::string name;
  MPI_Comm handle = MPI_COMM_NULL;
  bool inter = false, freed = false;
  std::vector<int> number;  // of each rank: its rank in its group, or -1
  std::vector<int> side;    // of each rank: the group, or the part of a split, in which it is
  bool member(int rank) const { return number[static_cast<size_t>(rank)] >= 0; }
  int side_of(int rank) const { return side[static_cast<size_t>(rank)]; }
  bool joins(int from, int to) const {
    return member(from) && member(to) && (side_of(from) != side_of(to)) == inter;
  }
  // The rank behind `n`, as `viewer` counts: in an intercommunicator sources and destinations are of the other group (7.1).
  int rank_behind(int n, int viewer) const {
    for (int r = 0; r < static_cast<int>(number.size()); r++)
      if (joins(r, viewer) && number[static_cast<size_t>(r)] == n) return r;
    return -1;
  }
};

// Collective over `parent`, which has the ranks of MPI_COMM_WORLD.
std::vector<Comm> make_comms(Random& random, MPI_Comm parent, bool with_world);
void free_comms(std::vector<Comm>& comms);
void return_errors(MPI_Comm comm);

// The types of one communicator's messages in one round: all are of one basic type, so a wildcard may take any of them (3.3.1: the
// types of sender and receiver must match).
struct Basic {
  MPI_Datatype type;
  int bytes;
};
Basic basic_of(int which);  // 0..2

enum class Mode {
  send,
  ssend,
  bsend,
  rsend,
  isend,
  issend,
  ibsend,
  irsend,
  freed,
  init,
  ssend_init,
  bsend_init,
  rsend_init
};
constexpr int kModes = 13;
inline bool blocks(Mode m) {
  return m == Mode::send || m == Mode::ssend || m == Mode::rsend;
}
inline bool buffered(Mode m) {
  return m == Mode::bsend || m == Mode::ibsend || m == Mode::bsend_init;
}
inline bool ready(Mode m) {
  return m == Mode::rsend || m == Mode::irsend || m == Mode::rsend_init;
}
inline bool synchronous(Mode m) {
  return m == Mode::ssend || m == Mode::issend || m == Mode::ssend_init;
}
inline bool persistent(Mode m) {
  return m >= Mode::init;
}

struct Message {
  int number = 0;  // its place in the plan: messages of one sender are sent in this order
  int step = 0;
  int comm = 0, from = 0, to = 0, tag = 0;
  int count = 0;  // of the communicator's basic type
  Mode mode = Mode::isend;
  // The sender waits for it only when all steps are done, so the receiver may leave it alone until then.
  bool late = false;
  bool exchanged = false;  // in a ring of MPI_Sendrecv
  int series = -1;         // messages of one persistent request
  int shape = 0;           // of the sender's type
};

enum class Act {
  message,
  ring,
  barrier,
  allreduce,
  bcast,
  ibarrier,
  iallreduce,
  dup,
  split,
  free_comm,
  pause
};

struct Step {
  Act act = Act::message;
  int first = 0, n = 0;  // its messages
  int comm = -1;         // of a collective call; of what is freed; the parent of what is made
  int made = -1;
  int rank = -1;  // who pauses
};

struct Plan {
  uint64_t fill = 0;
  std::vector<Comm> comms;  // those that the steps make are behind those that were there, yet without handles
  std::vector<int> basic;   // of each communicator
  std::vector<Message> messages;
  std::vector<Step> steps;
  Basic basic_type(int comm) const { return basic_of(basic[static_cast<size_t>(comm)]); }
};
Plan make_plan(Random& random, const std::vector<Comm>& comms);

// The key of each rank in a split that a plan makes.
int split_key(uint64_t fill, int made, int rank);
int split_colour(uint64_t fill, int made, int rank);

// The bytes of a message, one after the other.
std::vector<unsigned char> content_of(const Plan& plan, const Message& m);
std::string describe(const Plan& plan, const Message& m);

struct Pattern {
  int comm = 0, source = kAny, tag = kAny;
  bool matches(const Message& m) const {
    return m.comm == comm && (source == kAny || source == m.from) && (tag == kAny || tag == m.tag);
  }
  bool wild() const { return source == kAny || tag == kAny; }
};
std::string describe(const Plan& plan, const Pattern& p);

// One round of a plan on communicators of its own: several threads may do that at once.
void carry_out(uint64_t seed, std::vector<Comm>& comms, MPI_Comm control);
// Several threads of each rank receive on one communicator.
void share_one(uint64_t seed, MPI_Comm comm);

}  // namespace mixed
