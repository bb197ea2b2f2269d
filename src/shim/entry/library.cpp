#include "shim/entry/library.h"

#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "elf/loaded.h"
#include "generated/pmpi.h"
#include "mpi/library.h"
#include "shim/delegates.h"
#include "shim/entry/profiler.h"
#include "shim/entry/route.h"

namespace tasuki::shim {
namespace detail {

// Generated in pmpi.cpp.
void fill_pmpi(Pmpi* pmpi, void* library);
void fill_handles(void* library);
void fill_profiler(Pmpi* profiler);

uintptr_t g_library_begin = 0;
uintptr_t g_library_bytes = 0;
std::atomic<unsigned char> tasuki_route = kRouteUnknown;

namespace {

// The MPI library that the program has loaded, under whatever name (vendors': libmpi_gnu.so.12 and the like).
// Of several, the standard ABI's first, which may be built on top of one of ours; then ours.
const mpi::Library* find_library(const std::vector<mpi::Library>& loaded) {
  const auto first = [&](mpi::Family family) {
    return std::find_if(loaded.begin(), loaded.end(),
                        [&](const mpi::Library& l) { return l.family == family; });
  };
  auto found = first(mpi::Family::standard);
  if (found == loaded.end()) found = first(kFamily);
  if (found == loaded.end()) found = loaded.begin();
  return found == loaded.end() ? nullptr : &*found;
}

void remember_range(const void* address_inside) {
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* inside) {
        const elf::LoadedRange range = elf::loaded_range(*object);
        if (!range.holds(reinterpret_cast<uintptr_t>(inside))) return 0;
        g_library_begin = range.begin;
        g_library_bytes = range.end - range.begin;
        return 1;
      },
      const_cast<void*>(address_inside));
}

std::mutex g_mutex;
void* g_other_library = nullptr;

}  // namespace

void load_pmpi() {
  std::lock_guard lock(g_mutex);
  if (tasuki_route.load(std::memory_order_relaxed) != kRouteUnknown) return;
  const std::vector<mpi::Library> loaded = mpi::loaded_libraries();
  const mpi::Library* const found = find_library(loaded);
  if (found == nullptr) {
    log(LogLevel::error,
        "an MPI function was called, but no MPI library is loaded (this shim is for %s); run with "
        "TASUKI=off",
        mpi::sonames_of(kFamily)[0]);
    abort();
  }
  void* const library = found->handle;
  if (found->family != kFamily) {
    log(LogLevel::info,
        "the program's MPI library has another ABI than the shim (%s): messages stay with the library",
        mpi::sonames_of(kFamily)[0]);
    g_other_library = library;
    found_other_library(found->family == mpi::Family::standard);
    tasuki_route.store(kRouteOther, std::memory_order_release);
    return;
  }
  fill_pmpi(&g_pmpi, library);
  fill_handles(library);
  fill_profiler(&g_profiler);
  remember_range(dlsym(library, "PMPI_Send"));
  g_pmpi_loaded.store(true, std::memory_order_release);
  tasuki_route.store(kRouteOurs, std::memory_order_release);
}

extern "C" void* tasuki_destination(unsigned index) {
  load_pmpi();
  const Route& route = kRoutes[index];
  if (tasuki_route.load(std::memory_order_acquire) == kRouteOurs) return route.ours;
  // The next definition, as if the shim were not there: a profiler's or the library's. A library that was
  // loaded privately is found by its handle only.
  void* next = dlsym(RTLD_NEXT, route.name);
  if (!next) next = dlsym(g_other_library, route.name);
  if (!next) missing(route.name);
  return next;
}

extern "C" void* tasuki_present(void* here, unsigned index) {
  return defined_elsewhere(kRoutes[index].name, kRoutes) ? here : nullptr;
}

}  // namespace detail

void missing(const char* function) {
  log(LogLevel::error, "symbol lookup error: the MPI library has no %s", function);
  exit(127);
}

}  // namespace tasuki::shim
