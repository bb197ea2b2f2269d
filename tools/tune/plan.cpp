// Between which cores `tasuki tune` measures.
#include <cerrno>
#include <cstdio>
#include <map>
#include <set>

#include "tools/tune/tune.h"

namespace tasuki::tool {
namespace {

using message::Distance;

// Lists of the cores that have the same number.
std::vector<std::string> lists_by(int os::CorePosition::*number, const std::vector<os::CorePosition>& all) {
  std::map<int, os::CpuSet> groups;
  for (const os::CorePosition& c : all) groups[c.*number].add(c.core);
  std::vector<std::string> lists;
  for (const auto& [ignored, cores] : groups) lists.push_back(os::core_list(cores));
  return lists;
}

// Hardware threads of one core are no two tasks' cores as long as there are others.
os::CpuSet one_of_each(const std::vector<os::CorePosition>& all, const os::CpuSet& usable) {
  os::CpuSet chosen{};
  std::set<int> silicon;
  for (const os::CorePosition& c : all)
    if (usable.has(c.core) && silicon.insert(c.silicon).second) chosen.add(c.core);
  return silicon.size() > 1 ? chosen : usable;
}

}  // namespace

Result<TunePlan> plan_measurement() {
  os::CpuSet usable;
  if (os::current_cpu_set(&usable) < 2)
    return Status::error(ENODEV, "there is one core only for this process: nothing moves between cores");
  const Result<std::vector<os::CorePosition>> read = os::core_positions();
  if (!read.ok())
    fprintf(stderr, "tune: all cores are taken to be equally far from each other: %s\n",
            read.status().message().c_str());
  const std::vector<os::CorePosition> all = read.ok() ? read.value() : std::vector<os::CorePosition>();
  const std::unique_ptr<message::CoreMap> map = message::core_map(all);
  const os::CpuSet candidates = one_of_each(all, usable);
  TunePlan plan;
  for (const Distance d : {Distance::cache, Distance::package, Distance::machine})
    if (TunePlan::Pair pair{d, {}}; message::find_pair(*map, candidates, d, pair.core))
      plan.pairs.push_back(pair);
  if (plan.pairs.size() > 1) {
    plan.caches = lists_by(&os::CorePosition::cache, all);
    plan.packages = lists_by(&os::CorePosition::package, all);
  }
  return plan;
}

}  // namespace tasuki::tool
