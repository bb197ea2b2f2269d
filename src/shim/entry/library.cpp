#include "shim/entry/library.h"

#include <link.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "elf/loaded.h"
#include "generated/pmpi.h"
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

// The object that `address` belongs to, as dladdr sees it.
const void* object_base(const void* address) {
  Dl_info info;
  return address && dladdr(address, &info) ? info.dli_fbase : nullptr;
}

enum class Kind { none, ours, other };  // not an MPI library; one of this shim's ABI; one of another

// Libraries of the MPI-5 standard ABI have this name, and say so themselves; all others answer -1 or have no
// such function.
bool is_standard_abi(const char* path, void* handle) {
  const char* slash = strrchr(path, '/');
  if (strncmp(slash ? slash + 1 : path, "libmpi_abi.", 11) == 0) return true;
  int major = -1, minor = -1;
  int (*version)(int*, int*);
  find(&version, handle, "PMPI_Abi_get_version");
  return version && version(&major, &minor) == 0 && major > 0;
}

// What an object is that is loaded already (in whatever scope). An MPI library defines PMPI_Send itself:
// `base` is where the object lies, nullptr if unknown (dlsym on a handle also finds what the object's
// dependencies define, and on the program's own handle what the shim does). *handle is set unless none.
Kind kind_of(const char* path, const void* base, void** handle) {
  *handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
  if (!*handle) return Kind::none;
  const void* found = object_base(dlsym(*handle, "PMPI_Send"));
  if (found && found != object_base(&g_library_begin) && (!base || found == base)) {
    const bool open_mpi = dlsym(*handle, "ompi_mpi_comm_world") != nullptr;
    return open_mpi == kOpenMpi && !is_standard_abi(path, *handle) ? Kind::ours : Kind::other;
  }
  dlclose(*handle);
  *handle = nullptr;
  return Kind::none;
}

// The MPI library that the program has loaded, under whatever name (vendors': libmpi_gnu.so.12 and the like).
// Of several, the standard ABI's first, which may be built on top of one of ours; then ours.
Kind find_library(void** library, bool* standard) {
  struct Object {
    std::string name;
    uintptr_t begin;
  };
  // First the list, then the look-ups: dlopen inside the iteration could deadlock.
  std::vector<Object> objects;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* list) {
        // The program itself has no name. One that contains its MPI library resolves MPI_* to itself, before
        // the shim.
        if (object->dlpi_name && *object->dlpi_name)
          static_cast<std::vector<Object>*>(list)->push_back(
              {object->dlpi_name, elf::loaded_range(*object).begin});
        return 0;
      },
      &objects);
  void* other = nullptr;
  *library = nullptr;
  for (const Object& object : objects) {
    void* handle;
    const Kind kind = kind_of(object.name.c_str(), reinterpret_cast<void*>(object.begin), &handle);
    if (kind == Kind::ours && !*library) *library = handle;
    if (kind != Kind::other) continue;
    if (is_standard_abi(object.name.c_str(), handle)) {
      *standard = true;
      *library = handle;
      return Kind::other;
    }
    if (!other) other = handle;
  }
  if (*library) return Kind::ours;
  *library = other;
  return other ? Kind::other : Kind::none;
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
  void* library = nullptr;
  bool standard = false;
  switch (find_library(&library, &standard)) {
    case Kind::none:
      log(LogLevel::error,
          "an MPI function was called, but no MPI library is loaded (this shim is for %s); run with "
          "TASUKI=off",
          kLibraryNames[0]);
      abort();
    case Kind::other:
      log(LogLevel::info,
          "the program's MPI library has another ABI than the shim (%s): messages stay with the library",
          kLibraryNames[0]);
      g_other_library = library;
      found_other_library(standard);
      tasuki_route.store(kRouteOther, std::memory_order_release);
      return;
    case Kind::ours:
      break;
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

// Not null only when this object has been relocated.
const void* volatile g_relocated = const_cast<const void**>(&g_relocated);

extern "C" void* tasuki_present(void* here, unsigned index) {
  if (g_relocated == nullptr) return here;
  return defined_elsewhere(kRoutes[index].name, const_cast<const void**>(&g_relocated)) ? here : nullptr;
}

}  // namespace detail

void missing(const char* function) {
  log(LogLevel::error, "symbol lookup error: the MPI library has no %s", function);
  exit(127);
}

}  // namespace tasuki::shim
