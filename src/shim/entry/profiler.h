// Profilers in shared libraries. The shim is preloaded, so its MPI_X comes before that of a profiler that the
// program is linked with (Score-P, libompitrace) or that is preloaded after it. To such a profiler Tasuki is
// the MPI library: the shim's MPI_X hands the call to the profiler's MPI_X, and takes it back when that calls
// PMPI_X.
#pragma once

namespace tasuki::shim::detail {

// The next definition of mpi_name ("MPI_Send") after the shim's, if it is a profiler's: one that lies in an
// object which refers to pmpi_name ("PMPI_Send") without defining it, or in one of Tasuki's own, which
// calls it by its address and therefore says so by defining tasuki_calls_pmpi. Any other wrapper would call
// the library behind the shim's back; it is left out, and so is the library itself. nullptr if there is none.
void* profiler_symbol(const char* mpi_name, const char* pmpi_name);

// Does any object of the process define `name`, other than the one in which `here` lies? Looks at what is
// mapped, and calls nothing of the dynamic linker that could load or wait: it is asked in the midst of a
// relocation.
bool defined_elsewhere(const char* name, const void* here);

template <typename F>
void find_profiler(F* function, const char* mpi_name, const char* pmpi_name) {
  *function = reinterpret_cast<F>(profiler_symbol(mpi_name, pmpi_name));
}

}  // namespace tasuki::shim::detail
