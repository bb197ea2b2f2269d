#include "shim/entry/library.h"

#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
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
  const auto first = [&](MpiAbi family) {
    return std::find_if(loaded.begin(), loaded.end(),
                        [&](const mpi::Library& l) { return l.family == family; });
  };
  auto found = first(MpiAbi::standard);
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
const mpi::Library* g_other_library = nullptr;
void* g_other_shim = nullptr;

// The shim for another ABI, which lies beside this one. nullptr: it cannot be loaded.
void* load_shim_for(MpiAbi abi) {
  Dl_info self;
  if (dladdr(&g_mutex, &self) == 0) return nullptr;
  std::string path = self.dli_fname;
  path.erase(path.rfind('/') + 1);
  return dlopen((path + names_of(abi)->shim).c_str(), RTLD_NOW | RTLD_LOCAL);
}

// Where a call goes that this shim is not for: to a profiler, as if the shim were not there, else to the shim
// for the library's ABI, else to the library. One that was loaded privately is found by its handle only.
void* find_other(const char* name) {
  void* const next = dlsym(RTLD_NEXT, name);
  Dl_info info;
  const bool is_library =
      next == nullptr || (dladdr(next, &info) != 0 && info.dli_fbase == g_other_library->base);
  if (!is_library) return next;
  if (g_other_shim != nullptr)
    if (void* const theirs = dlsym(g_other_shim, name)) return theirs;
  return next != nullptr ? next : dlsym(g_other_library->handle, name);
}

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
        names_of(kFamily)->sonames[0]);
    abort();
  }
  void* const library = found->handle;
  if (found->family != kFamily) {
    g_other_library = new mpi::Library(*found);
    // A library of the other family is not the launcher's: each process is alone, and has nobody to send to.
    if (found->family == MpiAbi::standard) g_other_shim = load_shim_for(found->family);
    if (g_other_shim == nullptr) {
      log(LogLevel::info,
          "the program's MPI library has another ABI than the shim (%s): messages stay with the library",
          names_of(kFamily)->sonames[0]);
      found_other_library(found->family == MpiAbi::standard);
    }
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
  if (void* const known = g_destinations[index].load(std::memory_order_acquire)) return known;
  load_pmpi();
  const Route& route = kRoutes[index];
  if (tasuki_route.load(std::memory_order_acquire) == kRouteOurs) return route.ours;
  void* const other = find_other(route.name);
  if (other == nullptr) missing(route.name);
  g_destinations[index].store(other, std::memory_order_release);
  return other;
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
