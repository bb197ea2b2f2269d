#include "shim/objects/status.h"

#if defined(TASUKI_STANDARD_ABI)
#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "generated/pmpi.h"

namespace tasuki::shim {

bool g_status_has_halves = false;

void set_count_by_library(MPI_Status* s, uint64_t bytes, bool cancelled) {
  pmpi().Status_set_elements_x(s, MPI_BYTE, static_cast<MPI_Count>(bytes));
  pmpi().Status_set_cancelled(s, cancelled ? 1 : 0);
}

uint64_t count_by_library(const MPI_Status& s) {
  MPI_Count count = 0;
  pmpi().Get_elements_x(&s, MPI_BYTE, &count);
  return static_cast<uint64_t>(count);
}

// Lets the library write counts whose halves differ, and looks whether nothing but the halves has changed.
void learn_status_layout() {
  g_status_has_halves = true;
  for (const bool cancelled : {false, true}) {
    constexpr uint64_t kCount = 0x1234'89ab'cdefu;
    MPI_Status theirs = {}, ours = {};
    set_count_by_library(&theirs, kCount, cancelled);
    set_halves(&ours.MPI_internal[0], &ours.MPI_internal[1], kCount, cancelled);
    g_status_has_halves = g_status_has_halves && std::equal(std::begin(ours.MPI_internal),
                                                            std::end(ours.MPI_internal), theirs.MPI_internal);
  }
  if (!g_status_has_halves)
    log(LogLevel::debug, "the MPI library has a layout of MPI_Status of its own: its functions fill it in");
}

}  // namespace tasuki::shim
#endif
