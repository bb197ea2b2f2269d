#include "experiment/experiment.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "experiment/memory_check.h"
#include "netsim/simulate.h"

namespace tasuki::experiment {

// Schedules know a torus and a mesh, but nothing between them. Up to an extent of 2 both have the same
// neighbours.
Status take_shape(const netsim::Machine& m, bool needed, schedule::Parameters* p) {
  if (m.topology != netsim::TopologyKind::torus || m.router_nodes != 1) {
    if (!needed) return Status();
    return Status::error(
        EINVAL, "machine '" + m.name +
                    "': this schedule, or a gap by hops, needs the shape of a torus or mesh with one "
                    "node on each router");
  }
  bool some = false, all = true;
  for (size_t d = 0; d < m.extents.size(); d++) {
    if (m.extents[d] <= 2) continue;
    some = some || m.wraps[d];
    all = all && m.wraps[d];
  }
  if (some && !all) {
    if (!needed) return Status();
    return Status::error(
        EINVAL, "machine '" + m.name +
                    "': 'topology.wraps': this schedule, or a gap by hops, needs a torus that wraps in "
                    "all dimensions or a mesh that wraps in none");
  }
  p->shape = m.extents;
  p->wraps = some || (all && m.wraps[0]);
  return Status();
}

Result<Experiment> make_experiment(std::shared_ptr<const netsim::Machine> machine, const ScheduleSpec& spec) {
  const schedule::Algorithm* algorithm = schedule::find(spec.algorithm);
  if (algorithm == nullptr) {
    std::string names;
    for (const schedule::Algorithm* a : schedule::algorithms()) names += std::string(" ") + a->name;
    return Status::error(EINVAL, "there is no schedule '" + spec.algorithm + "'; there are:" + names);
  }
  schedule::Parameters p;
  p.ranks = machine->nodes();
  p.root = spec.root;
  p.bytes = spec.bytes;
  p.segment = spec.segment;
  Status status = take_shape(*machine, algorithm->needs_shape || spec.gap != nullptr, &p);
  if (!status.ok()) return status;
  if (spec.root != 0 && strcmp(algorithm->operation, "broadcast") != 0)
    return Status::error(EINVAL, "root " + std::to_string(spec.root) + ": " + algorithm->name + " is " +
                                     algorithm->operation + ", which has no root");
  if (spec.segment != 0 && strcmp(algorithm->operation, "broadcast") != 0)
    return Status::error(EINVAL, "segments of " + std::to_string(spec.segment) + " bytes: " +
                                     algorithm->name + " does not cut its messages; broadcasts do");
  Result<schedule::Schedule> made = schedule::make(*algorithm, p);
  if (!made.ok()) return made.status();
  Experiment e{std::move(machine), nullptr, std::move(made.value()), {}};
  if (spec.gap) {
    status = schedule::set_gaps(e.schedule, spec.gap);
    if (!status.ok()) return status;
  }
  if (spec.barriers) {
    Result<schedule::Schedule> with = schedule::with_barriers(e.schedule);
    if (!with.ok()) return with.status();
    e.schedule = std::move(with.value());
  }
  // With the options it is checked once more, when it runs: this keeps the topology from being too large.
  netsim::Options least, flow;
  flow.model = netsim::Model::flow;
  if (netsim::memory_of(*e.machine, flow) < netsim::memory_of(*e.machine, least)) least = flow;
  status = check_memory(*e.machine, least, memory_of(e.schedule));
  if (!status.ok()) return status;
  e.topology = netsim::make_topology(*e.machine);
  return e;
}

Result<RunOutcome> run(const Experiment& e) {
  return run_schedule(*e.machine, *e.topology, e.schedule, e.options);
}

void side_by_side(size_t count, uint32_t workers, const std::function<void(size_t)>& task,
                  const std::function<void(size_t)>& done) {
  std::atomic<size_t> next{0};
  size_t finished = 0;
  std::mutex lock;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      task(i);
      const std::lock_guard<std::mutex> guard(lock);
      finished++;
      if (done) done(finished);
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t w = 1; w < workers && w < count; w++) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
}

}  // namespace tasuki::experiment
