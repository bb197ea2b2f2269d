// What a task executes inherits this library and is no task. An MPI program among them that has the shim says
// so itself, at MPI_Init (shim/calls/outside.cpp). One without it, where no launcher told which MPI it would
// be, says it here: when it starts, or, if it has loaded MPI later (Python), when it ends. So does a task
// without it: nobody else tells its user that several programs are not ranks of one job.
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mpi_abi.h"
#include "base/settings.h"
#include "os/raw.h"
#include "task/space.h"

// What tells the shim that this library is there.
extern "C" __attribute__((visibility("default"))) const char tasuki_task_object = 1;

namespace {

struct Found {
  bool shim;
  char mpi[PATH_MAX];  // empty: none is loaded
};

int look_at(dl_phdr_info* info, size_t, void* argument) {
  Found* found = static_cast<Found*>(argument);
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : info->dlpi_name;
  for (const tasuki::MpiAbiNames& abi : tasuki::kMpiAbis) {
    if (is_library_of(abi, name)) snprintf(found->mpi, sizeof found->mpi, "%s", info->dlpi_name);
    found->shim |= strcmp(name, abi.shim) == 0;
  }
  return 0;
}

// The number of this process among those of its job. -1: it has none, or a launcher or a program of MPI has
// started it that a task has executed: it is none of those that were meant.
int number_of_self() {
  if (getenv("PMI_SPAWNED") != nullptr || getenv("OMPI_PARENT_PORT") != nullptr) return -1;
  int number = -1;
  for (const char* name : {"SLURM_PROCID", "PMI_RANK", "PMIX_RANK"})
    if (const char* text = getenv(name)) number = atoi(text);
  const char* text = getenv("TASUKI_RANK");  // without a launcher
  if (text == nullptr) return number;
  return getenv("PMI_RANK") == nullptr && getenv("PMIX_RANK") == nullptr ? atoi(text) : -1;
}

void say(const char* line, int length, size_t room) {
  if (length > 0)
    tasuki::os::raw_syscall(SYS_write, 2, tasuki::os::raw_arg(line),
                            static_cast<size_t>(length) < room ? length : static_cast<long>(room) - 1);
}

// True: it must not go on.
bool say_executed(int number) {
  const bool required = tasuki::sharing_required();
  if (!required && number != 0) return false;
  char line[512];
  const int n =
      snprintf(line, sizeof line,
               "tasuki: %.200s runs as a process of its own%s: the program that `tasuki run` started has "
               "executed it; name it "
               "itself (mpirun -n N tasuki run %.100s)\n",
               program_invocation_name, required ? ", which TASUKI_REQUIRE and --require forbid" : "",
               program_invocation_short_name);
  say(line, n, sizeof line);
  return required;
}

bool g_said = false;

__attribute__((constructor)) void look_outside() {
  const int number = number_of_self();
  if (tasuki::task::loaded_for() != nullptr || number < 0) return;
  Found found = {};
  dl_iterate_phdr(look_at, &found);
  if (found.mpi[0] == '\0' || found.shim) return;
  g_said = true;
  if (say_executed(number)) _exit(1);
}

// Whether MPI was not only loaded. (All libraries have this function alike.)
bool was_initialized(const char* library) {
  void* const handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return false;
  int (*initialized)(int*) = nullptr;
  *reinterpret_cast<void**>(&initialized) = dlsym(handle, "MPI_Initialized");
  int flag = 0;
  return initialized != nullptr && initialized(&flag) == 0 && flag != 0;
}

__attribute__((destructor)) void look_back() {
  const int number = number_of_self();
  const tasuki::task::TaskSlot* slot = tasuki::task::self();
  const bool executed = tasuki::task::loaded_for() == nullptr;
  if (number < 0 || g_said || (slot == nullptr && !executed)) return;
  if (!executed && (number != 0 || slot->space->job_task_count < 2)) return;
  Found found = {};
  dl_iterate_phdr(look_at, &found);
  if (found.mpi[0] == '\0' || found.shim || !was_initialized(found.mpi)) return;
  if (executed) {
    if (!say_executed(number)) return;
    fflush(nullptr);
    _exit(1);
  }
  if (getenv("TASUKI_RANK") == nullptr) return;  // a launcher has started it, which need not be alone
  char line[512];
  say(line,
      snprintf(line, sizeof line,
               "tasuki: each of the %u processes was alone in its MPI_COMM_WORLD: tasuki run -n starts "
               "programs, not "
               "ranks of an MPI job; start those with mpirun -n N tasuki run %.100s\n",
               slot->space->job_task_count, program_invocation_short_name),
      sizeof line);
}

}  // namespace
