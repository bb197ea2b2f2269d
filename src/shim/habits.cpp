#include "shim/habits.h"

#include <mpi.h>

#include <cstdio>
#include <string_view>

#include "generated/pmpi.h"

namespace tasuki::shim {

Habits g_habits;

Habits habits_of([[maybe_unused]] const char* version_text) {
  Habits habits;
#if !defined(OPEN_MPI)
  // Intel MPI and MVAPICH, which come from MPICH, have names and numbers of their own.
  int major = 0, minor = 0;
  const bool mpich = sscanf(version_text, "MPICH Version: %d.%d", &major, &minor) == 2;
  const bool intel = std::string_view(version_text).starts_with("Intel");
  const int number = 100 * major + minor;
  habits.requests_have_communicator = mpich && (number < 400 || number >= 402);
  habits.some_tell_nobody = mpich && number < 400;
  habits.blames_self = mpich && number >= 402;
  habits.bare_waitall_goes_on = intel || (mpich && number >= 402);
  habits.accepts_part_of_mixed = intel;
  habits.handled_is_success = mpich && number >= 403;
  habits.turns_all_pairs_around = !mpich || number >= 401;
#endif
  return habits;
}

void learn_habits() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  pmpi().Get_library_version(text, &length);
  g_habits = habits_of(text);
}

}  // namespace tasuki::shim
