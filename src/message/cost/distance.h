// How far two tasks are from each other, and what moving costs at each distance. Plain memory and plain
// functions: one task writes the table, and all of its space read it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "message/cost/cost.h"
#include "os/process/cpu.h"
#include "os/process/topology.h"

namespace tasuki::message {

// What the cores of two tasks share.
enum class Distance : uint8_t {
  cache,    // the last level
  package,  // a package (socket), but no cache
  machine,  // nothing but that, or it is not known
};
inline constexpr size_t kDistances = 3;
inline constexpr const char* kDistanceNames[kDistances] = {"cache", "package", "machine"};

// Of each core the number of its last-level cache and of its package, from 1 on; 0: not known.
struct CoreMap {
  uint16_t cache[os::CpuSet::kMaxCores];
  uint16_t package[os::CpuSet::kMaxCores];
};

std::unique_ptr<CoreMap> core_map(const std::vector<os::CorePosition>& cores);

// The cache and the package in which all cores of a task are; 0: there is none.
struct Place {
  uint16_t cache, package;
};
Place place_of(const CoreMap& map, const os::CpuSet& cores);
// A task may run on any of its cores, and move: where some of them are near and others are not, it is far.
Distance distance(Place a, Place b);

// The two first of `cores` at this distance; false if there are none.
bool find_pair(const CoreMap& map, const os::CpuSet& cores, Distance wanted, int pair[2]);

bool equal(const Costs& a, const Costs& b);

struct CostTable {
  Costs at[kDistances];
  CoreMap map;

  const Costs& operator[](Distance d) const { return at[static_cast<size_t>(d)]; }
  bool several() const;  // constants that differ
};

// The same as text, in files and in TASUKI_COSTS. What is not there for a distance is as for the nearer one.
struct CostTexts {
  Costs at[kDistances];
  std::vector<std::string> caches, packages;  // lists of cores: "0-7,64-71"
};
// The constants for the nearest; where others differ "; package: line=..." and "; machine: line=...", and
// then "; caches: 0-7,64-71 8-15,72-79" and "; packages: ...".
std::string format_table(const CostTexts& texts);
// Sets *table only when it succeeds: constants that differ need the lists of cores. No allocation.
bool parse_table(std::string_view text, CostTable* table);

}  // namespace tasuki::message
