#include "simmpi/run/rank.h"

#include <cstring>

#include "simmpi/objects/comm.h"
#include "simmpi/objects/mpi_state.h"
#include "simmpi/run/crash.h"
#include "simmpi/run/libc_calls.h"
#include "simmpi/run/simulation.h"

namespace tasuki::simmpi {
namespace {

constexpr size_t kHelperStack = 256 << 10;
thread_local Task* g_task = nullptr;

void run_task(void* argument) {
  Task* task = static_cast<Task*>(argument);
  task->body();
  task->ended = true;
  task->fiber.suspend();
}

}  // namespace

// A fiber stays on its thread, but the compiler must not keep a thread's address over a switch.
[[gnu::noinline]] Task* running_task() {
  return g_task;
}

Rank* running_rank() {
  Task* task = running_task();
  return task != nullptr ? task->rank : nullptr;
}

Rank::Rank(Simulation& s, NodeState& n, uint32_t i)
    : simulation(s), node(n), number(i), mpi(new MpiState(*this)) {}

Rank::~Rank() {
  for (auto& [context, queue] : queues_)
    for (auto& [stamp, packet] : queue.arrived) delete packet;
  for (auto& [from, channel] : from_)
    for (auto& [sequence, packet] : channel.early) delete packet;
}

Task* Rank::start_task(std::function<void()> body) {
  uint32_t slot = 0;
  while (slot < tasks.size() && tasks[slot] != nullptr) slot++;
  if (slot == tasks.size()) tasks.emplace_back();
  tasks[slot] = std::make_unique<Task>();
  Task* task = tasks[slot].get();
  task->rank = this;
  task->slot = slot;
  task->body = std::move(body);
  Task* starter = running_task();
  task->clock = starter != nullptr ? starter->clock : now();
  const Status status =
      task->fiber.start(slot == 0 ? simulation.options.stack_bytes : kHelperStack, run_task, task);
  if (!status.ok()) {
    if (starter != nullptr) fail_rank(1, status.message());
    simulation.note_failure(*this, 1);
    node.network->fail("rank " + std::to_string(number) + ": " + status.message());
    return nullptr;
  }
  make_ready(task);
  return task;
}

void Rank::make_ready(Task* task) {
  if (task->queued) return;
  task->queued = true;
  node.ready.push_back(task);
}

void resume(Task* task) {
  Rank& rank = *task->rank;
  task->clock = std::max(task->clock, rank.now());
  prepare_thread_for_crashes();
  void** exceptions = nullptr;
  if (rank.simulation.program != nullptr && rank.simulation.program->exception_globals != nullptr) {
    exceptions = static_cast<void**>(rank.simulation.program->exception_globals());
    memcpy(exceptions, task->exceptions, sizeof task->exceptions);
  }
  g_task = task;
  task->fiber.resume();
  g_task = nullptr;
  if (exceptions != nullptr) memcpy(task->exceptions, exceptions, sizeof task->exceptions);
  if (task->ended && task->slot != 0) rank.tasks[task->slot].reset();
}

void suspend() {
  running_task()->fiber.suspend();
}

void settle() {
  Task* task = running_task();
  Rank& rank = *task->rank;
  if (task->clock <= rank.now()) return;
  rank.node.network->set_timer(task->clock, uint64_t{rank.number} << 32 | task->slot);
  while (rank.now() < task->clock) suspend();
}

void spend(Time duration) {
  running_task()->clock += duration;
}

void yield(Time duration) {
  spend(duration);
  settle();
}

namespace {

void wait_for(Request* const* requests, size_t n, bool all) {
  Task* task = running_task();
  Waiter waiter{task, 0};
  for (size_t i = 0; i < n; i++) {
    if (requests[i] == nullptr || requests[i]->complete) continue;
    requests[i]->waiter = &waiter;
    waiter.needed++;
  }
  if (waiter.needed == 0) return;
  if (!all) waiter.needed = 1;
  // Whoever makes the task ready for another reason does not end the wait.
  while (waiter.needed != 0 && waiter.needed < UINT64_MAX / 2) suspend();
  for (size_t i = 0; i < n; i++)
    if (requests[i] != nullptr && requests[i]->waiter == &waiter) requests[i]->waiter = nullptr;
}

}  // namespace

void wait_all(Request* const* requests, size_t n) {
  wait_for(requests, n, true);
}

void wait_any(Request* const* requests, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (requests[i] != nullptr && requests[i]->complete) return;
  wait_for(requests, n, false);
}

void end_rank(int exit_code) {
  Task* task = running_task();
  Rank& rank = *task->rank;
  settle();
  flush_lines(&rank.output);
  rank.exit_code = exit_code;
  rank.ended = true;
  rank.simulation.progress();
  rank.log.finished = task->clock;
  MpiState& mpi = *rank.mpi;
  if (mpi.initialized && !mpi.finalized) {
    rank.simulation.note_failure(rank, exit_code != 0 ? exit_code : 1);
    rank.node.network->fail("rank " + std::to_string(rank.number) + " ended with exit code " +
                            std::to_string(exit_code) + " between MPI_Init and MPI_Finalize");
  }
  for (;;) suspend();
}

void fail_rank(int exit_code, const std::string& why) {
  Task* task = running_task();
  Rank& rank = *task->rank;
  if (task->clock > rank.now()) settle();
  flush_lines(&rank.output);
  rank.exit_code = exit_code;
  rank.ended = true;
  rank.simulation.note_failure(rank, exit_code);
  rank.node.network->fail("rank " + std::to_string(rank.number) + ": " + why);
  for (;;) suspend();
}

}  // namespace tasuki::simmpi
