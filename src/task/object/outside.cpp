// What a task executes inherits this library and is no task. An MPI program among them that has the shim says
// so itself, at MPI_Init (shim/calls/outside.cpp); one without it, where no launcher told which MPI it would
// be, here.
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "os/raw.h"
#include "task/space.h"

// What tells the shim that this library is there.
extern "C" __attribute__((visibility("default"))) const char tasuki_task_object = 1;

namespace {

struct Found {
  bool mpi, shim;
};

int look_at(dl_phdr_info* info, size_t, void* argument) {
  Found* found = static_cast<Found*>(argument);
  const char* slash = strrchr(info->dlpi_name, '/');
  const char* name = slash != nullptr ? slash + 1 : info->dlpi_name;
  found->mpi |= strncmp(name, "libmpi.so.", 10) == 0 || strncmp(name, "libmpich.so.", 12) == 0 ||
                strncmp(name, "libmpi_abi.so.", 14) == 0;
  found->shim |= strcmp(name, "libtasuki-openmpi.so") == 0 || strcmp(name, "libtasuki-mpich.so") == 0;
  return 0;
}

__attribute__((constructor)) void look_outside() {
  if (tasuki::task::loaded_for() != nullptr) return;
  // Without a launcher: ranks of a job have its shim, and those that a program of one rank spawns are none of
  // those that were meant.
  const char* number = getenv("TASUKI_RANK");
  if (number == nullptr || getenv("PMI_RANK") != nullptr || getenv("PMIX_RANK") != nullptr) return;
  Found found = {};
  dl_iterate_phdr(look_at, &found);
  if (!found.mpi || found.shim) return;
  const bool required = tasuki::sharing_required();
  if (!required && strcmp(number, "0") != 0) return;
  char line[512];
  const int n =
      snprintf(line, sizeof line,
               "tasuki: %.200s runs as a process of its own%s: the program that `tasuki run` started has "
               "executed it; name it "
               "itself (mpirun -n N tasuki run %.100s)\n",
               program_invocation_name, required ? ", which TASUKI_REQUIRE and --require forbid" : "",
               program_invocation_short_name);
  if (n > 0) tasuki::os::raw_syscall(SYS_write, 2, tasuki::os::raw_arg(line), n < 512 ? n : 511);
  if (required) _exit(1);
}

}  // namespace
