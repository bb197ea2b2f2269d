#include "mpi/entry/library.h"

#include <link.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "base/log.h"
#include "generated/pmpi.h"

namespace tasuki::mpi {
namespace detail {

// Generated in pmpi.cpp.
void fill_pmpi(Pmpi* pmpi, void* library);
void fill_handles(void* library);
void fill_profiler(Pmpi* profiler);

uintptr_t g_library_begin = 0;
uintptr_t g_library_bytes = 0;

namespace {

// The object that `address` belongs to, as dladdr sees it.
const void* object_base(const void* address) {
  Dl_info info;
  return address && dladdr(address, &info) ? info.dli_fbase : nullptr;
}

// A handle of an object that is already loaded (in whatever scope) if it is a library of this family: it
// defines PMPI_Send itself and has the family's mark. (`base` is where the object lies, nullptr if unknown:
// dlsym on a handle also finds what the object's dependencies define, and on the program's own handle what
// the shim does.)
void* library_if_it_is_one(const char* name, const void* base) {
  void* handle = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
  if (!handle) return nullptr;
  const void* found = object_base(dlsym(handle, "PMPI_Send"));
  const bool open_mpi = dlsym(handle, "ompi_mpi_comm_world") != nullptr;
  if (found && found != object_base(&g_library_begin) && (!base || found == base) && open_mpi == kOpenMpi)
    return handle;
  dlclose(handle);
  return nullptr;
}

// First memory address of a loaded object and of what follows it.
void object_range(const dl_phdr_info& object, uintptr_t* begin, uintptr_t* end) {
  *begin = UINTPTR_MAX;
  *end = 0;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = object.dlpi_phdr[i];
    if (p.p_type != PT_LOAD) continue;
    uintptr_t first = object.dlpi_addr + p.p_vaddr;
    if (first < *begin) *begin = first;
    if (first + p.p_memsz > *end) *end = first + p.p_memsz;
  }
}

// A library under another name (vendors': libmpi_gnu.so.12 and the like): any loaded object that defines
// PMPI_Send.
void* library_of_any_name() {
  struct Object {
    std::string name;
    uintptr_t begin;
  };
  // First the list, then the look-ups: dlopen inside the iteration could deadlock.
  std::vector<Object> objects;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* list) {
        uintptr_t begin, end;
        object_range(*object, &begin, &end);
        // The program itself has no name. One that contains its MPI library resolves MPI_* to itself, before
        // the shim.
        if (object->dlpi_name && *object->dlpi_name)
          static_cast<std::vector<Object>*>(list)->push_back({object->dlpi_name, begin});
        return 0;
      },
      &objects);
  for (const Object& object : objects) {
    void* handle = library_if_it_is_one(object.name.c_str(), reinterpret_cast<void*>(object.begin));
    if (handle) return handle;
  }
  return nullptr;
}

void* find_library() {
  for (const char* const* name = kLibraryNames; *name; ++name) {
    if (void* handle = library_if_it_is_one(*name, nullptr)) return handle;
  }
  return library_of_any_name();
}

void remember_range(const void* address_inside) {
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* inside) {
        uintptr_t begin, end;
        object_range(*object, &begin, &end);
        uintptr_t address = reinterpret_cast<uintptr_t>(inside);
        if (address < begin || address >= end) return 0;
        g_library_begin = begin;
        g_library_bytes = end - begin;
        return 1;
      },
      const_cast<void*>(address_inside));
}

}  // namespace

void load_pmpi() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (g_pmpi_loaded.load(std::memory_order_relaxed)) return;
  void* library = find_library();
  if (!library) {
    log(LogLevel::error,
        "an MPI function was called, but no MPI library of the kind that this shim is for (%s) is loaded; "
        "run with TASUKI=off",
        kLibraryNames[0]);
    abort();
  }
  fill_pmpi(&g_pmpi, library);
  fill_handles(library);
  fill_profiler(&g_profiler);
  remember_range(dlsym(library, "PMPI_Send"));
  g_pmpi_loaded.store(true, std::memory_order_release);
}

}  // namespace detail

void missing(const char* function) {
  log(LogLevel::error, "symbol lookup error: the MPI library has no %s", function);
  exit(127);
}

}  // namespace tasuki::mpi
