// What the stress of the pager is made of.
//
//   block       bytes of cluster memory that one thread owns, with a copy of what they must be in plain
// memory
//   moving      a block that is an allocation of its own: it is reallocated, freed and allocated again
//   operation   what a thread does to a block and then to the copy; operations.cpp has the table of them
//   frequent    an operation on a few bytes near the last ones; all others take much longer
//   refused     of an access: it gets SIGSEGV
#pragma once

#include <setjmp.h>
#include <signal.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "cluster/wrappers/pinning.h"
#include "os/process/signals.h"
#include "pager/pager.h"

namespace tasuki::stress {

inline constexpr size_t kPage = 4096;
inline constexpr size_t kMostOperations = 64;

struct Block {
  std::byte *at = nullptr, *copy = nullptr;
  size_t bytes = 0;
};
struct Range {
  size_t from, bytes;  // of a block
};

using Pair = std::array<int, 2>;

// What a thread sends through: each of them between itself and itself.
struct Ends {
  Pair pipe{-1, -1};     // read, write
  Pair stream{-1, -1};   // AF_UNIX
  Pair packets{-1, -1};  // AF_UNIX, each message whole
  Pair tcp{-1, -1};      // -1: there is none here
};

struct Thread {
  static constexpr size_t kLocal = 1 << 20, kMoving = 2, kMostMoving = 64 * kPage;
  int id = 0;
  std::mt19937_64 random;
  std::vector<Block> blocks;   // the moving ones are the last
  size_t moving = 0;           // how many these are
  size_t place = 0, from = 0;  // the block and the byte that frequent operations are near
  uint64_t counters = 0;       // the page of counters
  std::byte* local = nullptr;  // plain memory for whatever
  Ends ends;
  pid_t child = 0;     // forked and not yet waited for
  int depth = 0;       // 1: in a forked child, 2: in a child of that
  uint64_t added = 0;  // to the counters
  std::array<uint64_t, kMostOperations> counts{};
  std::atomic<uint64_t> steps{0};
  std::atomic<bool> over{false};
  std::atomic<const char*> what{"start"};
};

struct World {
  static constexpr size_t kFile = 8 << 20, kOut = 1 << 20;
  static constexpr uint64_t kCounters = 64;  // pages
  uint64_t seed = 0;
  const char* mode = "";
  pager::Faults faults = pager::Faults::automatic;
  pager::Pager* pager = nullptr;
  std::byte* file = nullptr;  // what is in the file
  int in = -1, in_direct = -1, out = -1, out_direct = -1;
  bool children_read = false;       // forked children have cluster memory
  bool rings = false, tcp = false;  // io_uring and TCP are permitted here
  uint64_t* counters = nullptr;
  std::atomic<bool> end{false};
};

struct Operation {
  const char* name;
  int weight;
  void (*run)(World&, Thread&, Block&);
  bool (*possible)(const World&);  // nullptr: always
  bool in_children = false;        // a forked child may do it, to its own memory
};
const std::vector<Operation>& operations();

// --- for operations

// A handler that interrupts malloc or fork must not use cluster memory (docs/pager.md, Limits).
class NoHandlers : os::SignalsBlocked {
 public:
  NoHandlers() : SignalsBlocked(os::Blocked::all_but_faults) {}
};

// What the kernel uses past the wrappers: held where it cannot wait for a page, or where nobody sees that it
// uses one (docs/pager.md, Limits). The range becomes what could be held, whole pages of it if it was such;
// no bytes: others hold too much now.
class Held {
 public:
  Held(const World& world, const Block& block, Range* range, bool write);
  ~Held() { end(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void end();

 private:
  const std::byte* at_ = nullptr;
  size_t bytes_ = 0;
};

Range any_range(Thread& thread, const Block& block, size_t most = SIZE_MAX);
// Whole pages of the block; none: bytes is 0.
Range any_pages(Thread& thread, const Block& block, size_t most = SIZE_MAX);
Block& any_block(Thread& thread);
void fill(Thread& thread, std::byte* at, size_t bytes);
// Some accesses to other blocks, so that pages leave meanwhile.
void go_on_elsewhere(World& world, Thread& thread, const Block& block, uint64_t times);

// Are the bytes of the block what they must be?
void check(const Thread& thread, const Block& block, size_t from, size_t bytes);
void check_local(const Thread& thread, const std::byte* must, size_t bytes);  // those in thread.local
void expect(const char* what, ssize_t got, size_t bytes);
[[noreturn]] [[gnu::format(printf, 1, 2)]] void wrong(const char* format, ...);

std::byte* plain_memory(size_t bytes);
Ends open_ends(bool tcp);
void close_ends(const Ends& ends);
void wait_for_child(Thread& thread);  // if there is one
bool allocate_moving(World& world, Thread& thread, Block* block);

// --- accesses that may be refused

extern constinit thread_local sigjmp_buf t_back;
extern constinit thread_local volatile sig_atomic_t t_trying;
void catch_refusals();  // once for the process, after the pager has begun

template <typename Access>
bool refused(const Access& access) {
  if (sigsetjmp(t_back, 1) != 0) {
    t_trying = 0;
    return true;
  }
  t_trying = 1;
  access();
  t_trying = 0;
  return false;
}

}  // namespace tasuki::stress
