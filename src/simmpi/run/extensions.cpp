// What include/tasuki/sim.h offers to programs; and which names of a program are ours.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "simmpi/run/entries.h"
#include "simmpi/run/libc_calls.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {
namespace {

const netsim::Machine& machine() {
  return running_rank()->simulation.machine;
}

void compute(double seconds) {
  if (!(seconds > 0)) return;
  const Time t = static_cast<Time>(std::min(seconds, 1e6) * 1e12 + 0.5);
  running_rank()->log.computing += t;
  spend(t);
}

int dimensions(int most, int* extents) {
  const std::vector<uint32_t> c = netsim::coordinates_of(machine(), 0);
  for (size_t i = 0; i < c.size() && static_cast<int>(i) < most; i++)
    extents[i] = static_cast<int>(machine().extents[i]);
  return static_cast<int>(c.size());
}

int coordinates(int rank, int most, int* out) {
  const Simulation& s = running_rank()->simulation;
  if (rank < 0 || static_cast<uint32_t>(rank) >= s.rank_count()) return 0;
  const std::vector<uint32_t> c = netsim::coordinates_of(machine(), s.node_of(static_cast<uint32_t>(rank)));
  for (size_t i = 0; i < c.size() && static_cast<int>(i) < most; i++) out[i] = static_cast<int>(c[i]);
  return static_cast<int>(c.size());
}

int neighbor(int n, const int* displacement) {
  const Rank& rank = *running_rank();
  const Simulation& s = rank.simulation;
  const std::vector<uint32_t> c = netsim::coordinates_of(machine(), rank.node.id);
  if (c.empty()) return -1;
  uint64_t node = 0, stride = 1;
  for (size_t i = 0; i < c.size(); i++) {
    const int64_t extent = machine().extents[i];
    int64_t x = int64_t{c[i]} + (static_cast<int>(i) < n ? displacement[i] : 0);
    if (x < 0 || x >= extent) {
      if (!machine().wraps[i]) return -1;
      x = (x % extent + extent) % extent;
    }
    node += static_cast<uint64_t>(x) * stride;
    stride *= static_cast<uint64_t>(extent);
  }
  const uint64_t found = node * s.per_node() + rank.number % s.per_node();
  return found < s.rank_count() ? static_cast<int>(found) : -1;
}

int nics() {
  return static_cast<int>(std::max(1u, machine().nics));
}
void set_nic(int nic) {
  running_rank()->next_nic = nic < 0 ? -1 : nic;
}
void set_gap(double packet_times) {
  running_rank()->next_gap =
      packet_times < 0 ? -1 : static_cast<int64_t>(std::min(packet_times, 1e6) * netsim::kGapUnit + 0.5);
}

std::unordered_map<std::string_view, void*> all_names() {
  std::unordered_map<std::string_view, void*> names;
  for (size_t i = 0; i < kEntryCount; i++) names.emplace(kEntries[i].name, kEntries[i].function);
  names.emplace("tasuki_sim_impl_compute", reinterpret_cast<void*>(compute));
  names.emplace("tasuki_sim_impl_dimensions", reinterpret_cast<void*>(dimensions));
  names.emplace("tasuki_sim_impl_coordinates", reinterpret_cast<void*>(coordinates));
  names.emplace("tasuki_sim_impl_neighbor", reinterpret_cast<void*>(neighbor));
  names.emplace("tasuki_sim_impl_nics", reinterpret_cast<void*>(nics));
  names.emplace("tasuki_sim_impl_set_nic", reinterpret_cast<void*>(set_nic));
  names.emplace("tasuki_sim_impl_set_gap", reinterpret_cast<void*>(set_gap));
  return names;
}

}  // namespace

void* our_function(std::string_view name) {
  static const auto names = all_names();
  if (name.substr(0, 5) == "PMPI_") name.remove_prefix(1);
  const auto i = names.find(name);
  return i != names.end() ? i->second : process_function(name);
}

}  // namespace tasuki::simmpi
