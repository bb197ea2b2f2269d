#include "shim/calls/outside.h"

#include <dlfcn.h>
#include <errno.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/settings.h"
#include "generated/pmpi.h"
#include "os/process/environment.h"
#include "os/process/self.h"
#include "shim/calls/task_state.h"
#include "shim/delegates.h"
#include "shim/entry/library.h"
#include "task/examine/launcher.h"

namespace tasuki::shim {
namespace {

using detail::kFamily;

// Programs that a task executes inherit what is preloaded into it (task/object/outside.cpp), but not the
// task's memory.
bool executed_by_a_task() {
  return task::loaded_for() == nullptr && dlsym(RTLD_DEFAULT, "tasuki_task_object") != nullptr;
}

// False: it may go on.
bool say_executed(int world_rank) {
  const bool required = sharing_required();
  if (!required && world_rank > 0) return false;
  log(required ? LogLevel::error : LogLevel::warning,
      "%s runs as a process of its own%s: the program that `tasuki run` started has executed it; name it "
      "itself (tasuki run %s), or "
      "put tasuki run before it inside the script",
      program_invocation_name, required ? ", which TASUKI_REQUIRE and --require forbid" : "",
      program_invocation_short_name);
  return required;
}

// A job that a rank has spawned, with Hydra or Open MPI, was never meant to be here.
bool is_meant() {
  return getenv("PMI_SPAWNED") == nullptr && getenv("OMPI_PARENT_PORT") == nullptr && setting_flag("TASUKI");
}

// Of the tasks that enrolled the first one speaks; of others the one with the lowest number.
bool speaks(const task::TaskSlot* slot, message::Board* board, const task::Job& job) {
  if (slot != nullptr) {
    for (uint32_t i = 0; i < slot->index; i++)
      if (board->member(static_cast<int32_t>(i)).member != 0) return false;
    return std::max(slot->launcher_rank, 0) == static_cast<int32_t>(slot->index);  // on the first host
  }
  const char* number = getenv("TASUKI_RANK");
  return number != nullptr ? atoi(number) == 0 : job.world_rank <= 0;
}

// Programs of one rank each where several were started: the launcher is none that this MPI library can speak
// to.
void say_alone(const task::TaskSlot* slot, message::Board* board) {
  const task::Job job = task::read_job(os::environment_of_self());
  // Which launchers a library of the standard ABI speaks to, nobody knows before. Of others `tasuki run` has
  // said that the launcher is wrong.
  const bool other_launcher = job.abi != MpiAbi::none && job.abi != kFamily;
  if (other_launcher && kFamily != MpiAbi::standard) return;
  const char* started = getenv("TASUKI_SIZE");
  const int count = slot != nullptr      ? static_cast<int>(slot->space->job_task_count)
                    : started != nullptr ? atoi(started)
                                         : job.local_size;
  if (count < 2 || !speaks(slot, board, job)) return;
  const bool slurm = job.launcher != nullptr && std::string(job.launcher) == "slurm";
  log(LogLevel::warning, "each of the %d processes is alone in its MPI_COMM_WORLD: %s", count,
      other_launcher ? "their MPI library does not know the launcher that started them; start them with the "
                       "mpirun of that library"
      : slurm
          ? "srun started them without what their MPI library understands (srun --mpi=list: try pmi2 or pmix)"
          : "tasuki run -n starts programs, not ranks of an MPI job; start those with mpirun -n N tasuki run "
            "PROGRAM");
}

}  // namespace

void look_outside(const task::TaskSlot* slot, message::Board* board) {
  if (!is_meant()) return;
  int rank = 0, size = 0;
  pmpi().Comm_rank(MPI_COMM_WORLD, &rank);
  pmpi().Comm_size(MPI_COMM_WORLD, &size);
  if (executed_by_a_task() && say_executed(rank)) end_job();
  if (size == 1) say_alone(slot, board);
}

void found_other_library(bool standard) {
  if (!is_meant()) return;
  const task::Job job = task::read_job(os::environment_of_self());
  const char* number = getenv("TASUKI_RANK");
  const int rank = number != nullptr ? atoi(number) : job.world_rank;
  // There is no MPI yet by which the job could be ended.
  if (executed_by_a_task() && say_executed(rank)) os::end_at_once(1);
  // A program that is linked with the other MPI has the shim for that one, and `tasuki run` has said this.
  if (standard || job.abi != kFamily || job.local_size < 2 || rank > 0) return;
  const char* const other = kFamily == MpiAbi::openmpi ? "MPICH" : "Open MPI";
  log(LogLevel::warning,
      "%s has loaded %s and was started by the launcher of %s: each of its processes will be alone in its "
      "MPI_COMM_WORLD; start it with %s's mpirun",
      program_invocation_name, other, kFamily == MpiAbi::openmpi ? "Open MPI" : "MPICH", other);
}

}  // namespace tasuki::shim
