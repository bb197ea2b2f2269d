// dlm_startup of libdlmmpi: settings come from the program's arguments, the environment and a file.
#include "cluster/api/report_page.h"
#include "cluster/api/runtime.h"
#include "cluster/settings/command_line.h"
#include "mpi/functions.h"
#include "tasuki/dlm.h"

namespace {

// Where the program is not linked with an MPI library, one is loaded when it would be if this library were
// linked with it: its handlers of the process's end are then registered before all others, and run after
// Runtime's. What is wrong is said when MPI is needed.
[[gnu::constructor]] void find_mpi() {
  (void)tasuki::mpi::load();
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int dlm_startup(int* argc, char*** argv) {
  using namespace tasuki::cluster;
  Runtime::instance().start(argc, argv, read_options, write_report);
  return 0;
}
