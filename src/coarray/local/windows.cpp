#include "coarray/local/windows.h"

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "coarray/local/fail.h"
#include "mpi/functions.h"

namespace tasuki::coarray {
namespace {

constexpr const char* kChoice = "OMPI_MCA_osc";

bool on_several_hosts_of_openmpi() {
  const char *all = getenv("OMPI_COMM_WORLD_SIZE"), *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  return all != nullptr && here != nullptr && atoi(here) < atoi(all);
}

// The value from whatever file has it; "" if there is none. Takes a quarter of a second.
std::string chosen_components() {
  int level = 0, index = 0, count = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &level) != MPI_SUCCESS) return "";
  std::string value;
  MPI_T_cvar_handle handle;
  if (MPI_T_cvar_get_index("osc", &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
    std::vector<char> text(static_cast<size_t>(count) + 1);
    if (MPI_T_cvar_read(handle, text.data()) == MPI_SUCCESS) value = text.data();
    MPI_T_cvar_handle_free(&handle);
  }
  // Without the end MPI_Init would not read the variable again.
  MPI_T_finalize();
  return value;
}

}  // namespace

// Only with Open MPI: MPICH 4.0.2 crashes in MPI_Init when MPI_T was begun and ended before.
void permit_windows() {
  if (!on_several_hosts_of_openmpi() || getenv(kChoice) != nullptr) return;
  std::string excluded = chosen_components();
  if (!excluded.starts_with('^')) return;
  const size_t at = excluded.find("pt2pt");
  if (at == std::string::npos) return;
  // The name and one of the commas beside it; "^" alone, which is left of "^pt2pt", excludes nothing.
  const size_t from = excluded[at - 1] == ',' ? at - 1 : at;
  const size_t to = at + 5 + (from == at && excluded[at + 5] == ',' ? 1 : 0);
  excluded.erase(from, to - from);
  setenv(kChoice, excluded.size() > 1 ? excluded.c_str() : "", 1);
}

void explain_no_window(int rc) {
  int kind = MPI_SUCCESS;
  PMPI_Error_class(rc, &kind);
  if (kind == MPI_ERR_WIN)
    fail({nullptr, 0},
         "the MPI library makes no windows (one-sided communication) on the network between these hosts; "
         "with Open MPI 4 "
         "start the job with: mpirun --mca osc ^ucx (so that its component pt2pt takes part)");
}

void sleep_before_finalize() {
  if (mpi::is_mpich_before(4, 2)) std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

}  // namespace tasuki::coarray
