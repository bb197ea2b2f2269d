#include "message/transfers/spare.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <numeric>

namespace tasuki::message {
namespace {

using os::CpuSet;

struct Task {
  CpuSet cores;  // one hardware thread of each
  int count;
  CpuSet own{};  // of its own threads
  bool starved = false;
};

uint16_t silicon_of(const CoresOfTasks& all, int core) {
  return all.silicon != nullptr ? all.silicon[core] : static_cast<uint16_t>(core);
}

CpuSet reduced(const CoresOfTasks& all, const CpuSet& cores) {
  CpuSet found{};
  os::for_each_core(cores, [&](int core) { found.add(silicon_of(all, core)); });
  return found;
}

// Takes the first of `cores` that is free; false if there is none.
bool take(const CpuSet& cores, CpuSet* taken, CpuSet* taker) {
  for (size_t i = 0; i < std::size(cores.bits); i++) {
    const uint64_t free = cores.bits[i] & ~taken->bits[i];
    if (free == 0) continue;
    const int core = static_cast<int>(64 * i) + std::countr_zero(free);
    taken->add(core);
    taker->add(core);
    return true;
  }
  return false;
}

std::vector<Task> tasks_of(const CoresOfTasks& all) {
  CpuSet any{};
  for (const CpuSet* cores : all.tasks) any.add_all(*cores);
  std::vector<Task> tasks;
  for (size_t i = 0; i < all.tasks.size() + all.elsewhere; i++) {
    const bool known = i < all.tasks.size() && os::count_cores(*all.tasks[i]) != 0;
    Task t{.cores = reduced(all, known ? *all.tasks[i] : any), .count = 0};
    t.count = os::count_cores(t.cores);
    tasks.push_back(t);
  }
  return tasks;
}

}  // namespace

SpareCores spare_cores(const CoresOfTasks& all, size_t me) {
  std::vector<Task> tasks = tasks_of(all);
  std::vector<size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tasks[a].count < tasks[b].count; });
  CpuSet taken{};
  for (const size_t i : order)
    for (uint32_t thread = 0; thread < all.threads_each && !tasks[i].starved; thread++)
      tasks[i].starved = !take(tasks[i].cores, &taken, &tasks[i].own);
  CpuSet spare{};
  for (bool any = true; any;) {
    any = false;
    for (size_t i = 0; i < all.tasks.size(); i++) {
      CpuSet others{};
      if (!tasks[i].starved && take(tasks[i].cores, &taken, i == me ? &spare : &others)) any = true;
    }
  }
  SpareCores mine{static_cast<uint32_t>(os::count_cores(spare)), {}};
  CpuSet tighter{};
  for (const Task& t : tasks)
    if (t.count < tasks[me].count) tighter.add_all(t.own);
  os::for_each_core(*all.tasks[me], [&](int core) {
    if (tighter.has(silicon_of(all, core))) mine.avoided.add(core);
  });
  return mine;
}

}  // namespace tasuki::message
