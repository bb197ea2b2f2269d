// Finds the MPI library that the program has loaded. The shim is preloaded into every program, also into
// those without MPI, and some programs load MPI late and privately (Python's mpi4py): so the shim is not
// linked with the library but looks for it at the first call.
#pragma once

#include <dlfcn.h>

#include <cstdint>

#include "mpi/library.h"

namespace tasuki::shim::detail {

// What this shim is for. Provided by the generated pmpi.cpp.
extern const MpiAbi kFamily;

// Sets *function to the library's own `name`, never the shim's, which exports the same names. nullptr: it has
// none.
template <typename F>
void find(F* function, void* library, const char* name) {
  *function = reinterpret_cast<F>(dlsym(library, name));
}

// Sets *object to the address of the variable `name` as the program and the library see it: the program's own
// copy, if it has one (executables copy the variables of libraries that they use), else the library's.
inline void find_object(void** object, void* library, const char* name) {
  *object = dlsym(RTLD_DEFAULT, name);
  if (!*object) *object = dlsym(library, name);
}

// Where the library lies. Empty until it has been found.
extern uintptr_t g_library_begin;
extern uintptr_t g_library_bytes;

}  // namespace tasuki::shim::detail

namespace tasuki::shim {

// Is this the return address of a call that the MPI library makes to itself? Its parts (MPI-IO,
// sendrecv_replace) use PMPI_ functions on communicators of their own; those stay in the library, as if the
// shim were not there. A part that is an object of its own (Open MPI's ROMIO module) counts as a user: all
// its calls come to Tasuki.
inline bool called_by_library(const void* return_address) {
  return reinterpret_cast<uintptr_t>(return_address) - detail::g_library_begin < detail::g_library_bytes;
}

// The user calls a function that the shim exports but this MPI library does not have: ends the process as the
// dynamic linker does for an unresolved symbol.
[[noreturn]] void missing(const char* function);

}  // namespace tasuki::shim
