// Where an exported function goes. A program whose MPI library is not known when it starts (an interpreter
// that loads MPI as a module) gets the shim of the launcher's MPI; its library may then have another ABI:
// the MPI-5 standard's, whose shim the first call loads, or the other family's. Each call must arrive there
// exactly as the program made it, handles of another size included, so no function with this shim's types
// may stand in between. Hence MPI_X and PMPI_X are a compare and a jump in assembly: to the shim's own
// tasuki_MPI_X (budget: one cycle), else, the first time and with a library of another ABI always, through
// tasuki_destination, all argument registers and the stack kept.
//
// What is younger than MPI-4.0 few libraries have. Programs look for it by weak references and dlsym, and
// where the library lacks it they must not find it: such a name is an indirect function (STT_GNU_IFUNC),
// which the dynamic linker asks for its address whenever it looks the name up. The answer nullptr is to both
// as if there were no such name. An object that is relocated before this one finds an ordinary function
// (later.cpp). Not the names PMPI_X: nobody looks whether those are there. And not the shim for the standard
// ABI, whose libraries have all functions.
#pragma once

#include <atomic>

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "the exported functions are written for x86-64 and aarch64 (gen/generate.py)"
#endif

namespace tasuki::shim::detail {

constexpr unsigned char kRouteUnknown = 0;  // the library has not been looked for yet
constexpr unsigned char kRouteOurs =
    1;  // it is one that this shim is for; pmpi() is filled. The assembly knows it.
constexpr unsigned char kRouteOther = 2;

struct Route {
  const char* name;  // "MPI_Send", "PMPI_Send"
  void* ours;
};
extern const Route kRoutes[];  // generated
// Generated; where the same functions lead if the library is another one, as far as they were called.
extern std::atomic<void*> g_destinations[];

extern "C" {
extern std::atomic<unsigned char> tasuki_route __attribute__((visibility("hidden")));
void* tasuki_destination(unsigned index) __attribute__((visibility("hidden"), used));
// `here`, if any other object of the process defines the function; else nullptr.
void* tasuki_present(void* here, unsigned index) __attribute__((visibility("hidden"), used));
}

}  // namespace tasuki::shim::detail
