#include "coarray/api/runtime.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "base/log.h"
#include "coarray/local/fail.h"
#include "coarray/local/windows.h"
#include "os/process/self.h"

namespace tasuki::coarray {

Runtime* the_runtime = nullptr;

Runtime& make_runtime() {
  the_runtime = new Runtime;
  return *the_runtime;
}

void Runtime::add(tasuki_xmp_nodes* record) {
  if (record->state[1] != nullptr) return;
  record->state[1] = record;
  nodes_.push_back(record);
  if (phase.running()) teams.nodes(*record);
}

void Runtime::start(int* argc, char*** argv, bool ours) {
  if (!phase.off()) return;
  int initialised = 0, level = 0;
  PMPI_Initialized(&initialised);
  if (initialised == 0) {
    permit_windows();
    // By the name that programs use, so that what stands before the MPI library starts too.
    MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level);
  }
  finalise_ = ours || initialised == 0;
  pid_ = os::pid_of_self();
  teams.start(MPI_COMM_WORLD);
  const Team& world = teams.world();
  memory.start(world);
  sync.start(world);
  patience.start(!sync.has_cores_for_all(), teams.first_image());
  allgather.start(world);
  stations.start(world);
  phase.begin();
  Segment* mirrored = coarrays.start();
  for (const tasuki_xmp_nodes* record : nodes_) teams.nodes(*record);
  templates.start();
  start_device({mirrored, arrays.start()});
  sync.barrier(world);
  static bool arranged = false;
  if (!arranged) atexit([] { runtime().end(); });
  arranged = true;
  static const char* const reaches[] = {"one address space", "shared memory of the host", "windows of MPI"};
  log(LogLevel::debug, "coarrays: image %d of %d, by %s", world.me + teams.first_image(), world.size(),
      reaches[static_cast<int>(memory.reach())]);
}

void Runtime::start_device(const std::vector<Segment*>& mirrored) {
  const Team& world = teams.world();
  if (!uses_device_ && std::count(mirrored.begin(), mirrored.end(), nullptr) == std::ssize(mirrored)) return;
  device.start(world);
  bool distant = uses_device_ && world.size() > 1;
  for (Segment* segment : mirrored) {
    if (segment == nullptr) continue;
    device.mirror(segment, &memory);
    const std::vector<char*>& direct = segment->mirror->direct;
    distant = distant ||
              (segment->mirror->window == nullptr && std::count(direct.begin(), direct.end(), nullptr) > 0);
  }
  if (device.apart()) transfers.start_device(distant, world);
}

void Runtime::end() {
  if (!phase.running() || os::pid_of_self() != pid_ || has_failed()) return;
  int finalised = 0;
  PMPI_Finalized(&finalised);
  if (finalised != 0)
    fail({nullptr, 0}, "the program has called MPI_Finalize before the end of its coarrays");
  while (teams.nesting() > 0) teams.leave();  // exit() inside tasks
  asynchronous.wait_all();
  transfers.complete();
  {
    const Waiting here(&patience, "has left main", -1, {nullptr, 0});
    sync.stopped([this] { collectives.look(teams); });
  }
  collectives.stop_looking();
  patience.stop();
  phase.end();
  transfers.stop_device();
  const auto has_mirror = [](const auto& segment) { return segment->mirror != nullptr; };
  for (const auto& all = memory.segments(); device.apart();) {
    const auto last = std::find_if(all.rbegin(), all.rend(), has_mirror);
    if (last == all.rend()) break;
    device.unmirror(last->get(), &memory);
  }
  device.stop();
  host_transfers.stop();
  memory.release_all();
  operations.free();
  teams.stop();
  if (memory.between_hosts()) sleep_before_finalize();
  if (finalise_) MPI_Finalize();
}

}  // namespace tasuki::coarray
