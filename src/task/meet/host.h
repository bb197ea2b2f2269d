// The host: the process that owns an address space, starts its tasks and stays until the last has ended.
// Under a launcher it is nobody's rank: it is forked by the first `tasuki run` that arrives, so that every
// rank, also that one, can end when its task ends.
#pragma once

#include <functional>
#include <string>

#include "os/files/descriptor.h"
#include "task/space.h"
#include "task/start/request.h"

namespace tasuki::task {

struct HostOptions {
  std::string library_dir;     // <prefix>/lib/tasuki
  int join_timeout_ms = 5000;  // how long it waits for ranks that do not come
  uint64_t layout_seed = 0;
  bool guarded = false;  // see create_space; the processor must have keys
  // What a task is expected to need of the kernel's limit per address space. 0: as measured of MPI libraries,
  // by the number of ranks of the node (expected_mappings).
  size_t mappings_per_task = 0;
};

// Mappings that a rank needs beside `local_size - 1` others: MPI libraries map something of each of them.
// Measured at 2, 64 and 128 ranks, of a program with nothing else: Open MPI 4.1.4 283, 449 and 513,
// MPICH 4.0.2 245, 371 and 499; under Tasuki 20 more.
constexpr size_t expected_mappings(size_t local_size) {
  return 400 + 2 * local_size;
}

// Mappings of a space that stay free: of the host, and for tasks that need a few more than expected.
inline constexpr size_t kSpareMappings = 1000;

// Under a launcher: serves the proxies that connect to `listener`, local_size of them unless some stay away
// or the launcher ends (`starter` becomes readable; it may be invalid). Returns when the last task has ended.
void host_job(os::Fd listener, os::Fd starter, int local_size, const HostOptions& options);

// Without a launcher: starts `count` tasks itself, whose environment tells each its number, and relays
// signals to them. The first has the standard input, the others an empty one. Returns the wait status to end
// with: that of the first task that did not end with 0. A task that dies by a signal takes the others with
// it.
Result<int> host_here(TaskRequest request, int count, const HostOptions& options);

// The same with plain processes, for a program that cannot share. `execute` runs in each, with the number in
// the environment; it does not return.
Result<int> plain_here(const std::string& name, int count, const std::function<void()>& execute);

}  // namespace tasuki::task
