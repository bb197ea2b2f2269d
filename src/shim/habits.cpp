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
  const std::string_view text = version_text;
  const bool intel = text.starts_with("Intel");
  const int number = 100 * major + minor;
  habits.requests_have_communicator = mpich && (number < 400 || number >= 402);
  habits.matched_have_communicator = intel;
  habits.some_tell_nobody = mpich && number < 400;
  habits.blames_self = mpich && number >= 402;
  habits.bare_waitall_goes_on = intel || (mpich && number >= 402);
  habits.accepts_part_of_mixed = intel;
  habits.handled_is_success = mpich && number >= 403;
  habits.sets_error.probed = mpich && number < 500 && text.find("ch4:ucx") != text.npos;
  habits.sets_error.nothing_seen = intel;
  habits.sets_error.replaced = true;
  habits.turns_all_pairs_around = !mpich || number >= 401;
#endif
  return habits;
}

void learn_habits() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  pmpi().Get_library_version(text, &length);
  g_habits = habits_of(text);
  Habits::SetsError& sets = g_habits.sets_error;
  constexpr int kUntouched = -1;
  MPI_Request none = MPI_REQUEST_NULL;
  int flag = 0;
  MPI_Status status;
  status.MPI_ERROR = kUntouched;
  pmpi().Test(&none, &flag, &status);
  sets.nothing = status.MPI_ERROR != kUntouched;
  sets.nothing_seen = sets.nothing_seen || sets.nothing;
#if defined(OPEN_MPI)
  sets.received = sets.probed = sets.replaced = sets.nothing;
#endif
}

}  // namespace tasuki::shim
