// What the pager's stress (pager.cpp) and its operations (pager_operations.cpp) share.
#pragma once

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

// Bytes of cluster memory that one thread owns, and what they must be.
struct Block {
  std::byte *at = nullptr, *copy = nullptr;
  size_t bytes = 0;
};

struct Thread {
  static constexpr size_t kLocal = 1 << 20;
  int id = 0;
  std::mt19937_64 random;
  std::vector<Block> blocks;
  std::byte* local = nullptr;  // plain memory for whatever
  int ends[2] = {-1, -1};      // a pipe
  uint64_t added = 0;          // to the counters
  std::atomic<uint64_t> steps{0};
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
  uint64_t* counters = nullptr;
  std::atomic<bool> end{false};
};

struct Operation {
  const char* name;
  int weight;
  void (*run)(World&, Thread&, Block&);
  bool (*possible)(const World&);  // nullptr: always
};
const std::vector<Operation>& operations();

// Are the bytes of the block what they must be?
void check(const Thread& thread, const Block& block, size_t from, size_t bytes);

[[noreturn]] [[gnu::format(printf, 1, 2)]] void wrong(const char* format, ...);

}  // namespace tasuki::stress
