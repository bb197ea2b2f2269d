#include "simmpi/experiment.h"

#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>

namespace tasuki::simmpi {

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
  if (machine->topology == netsim::TopologyKind::torus && machine->router_nodes == 1) {
    p.shape = machine->extents;
    p.wraps = machine->wraps[0];
  }
  Result<schedule::Schedule> made = schedule::make(*algorithm, p);
  if (!made.ok()) return made.status();
  Experiment e{std::move(machine), nullptr, std::move(made.value()), {}};
  if (spec.gap) {
    Status status = schedule::set_gaps(e.schedule, spec.gap);
    if (!status.ok()) return status;
  }
  if (spec.barriers) {
    Result<schedule::Schedule> with = schedule::with_barriers(e.schedule);
    if (!with.ok()) return with.status();
    e.schedule = std::move(with.value());
  }
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

}  // namespace tasuki::simmpi
