#include "shim/entry/profiler.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "base/mpi_abi.h"
#include "elf/loaded.h"

namespace tasuki::shim::detail {

namespace {

// The shim for another ABI (library.cpp), which exports what this one does.
bool is_shim(const char* file) {
  const std::string_view path = file != nullptr ? file : "";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::any_of(std::begin(kMpiAbis), std::end(kMpiAbis),
                     [&](const MpiAbiNames& abi) { return name == abi.shim; });
}

}  // namespace

void* profiler_symbol(const char* mpi_name, const char* pmpi_name) {
  void* next = dlsym(RTLD_NEXT, mpi_name);
  if (!next) return nullptr;
  Dl_info info;
  link_map* object = nullptr;
  if (!dladdr1(next, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) || !object) return nullptr;
  const elf::LoadedSymbols symbols(object->l_ld, object->l_addr);
  return symbols.refer_to(pmpi_name) || symbols.define("tasuki_calls_pmpi") ? next : nullptr;
}

bool defined_elsewhere(const char* name, const void* here) {
  struct Search {
    const char* name;
    uintptr_t here;
  } search{name, reinterpret_cast<uintptr_t>(here)};
  return dl_iterate_phdr(
             [](dl_phdr_info* object, size_t, void* data) {
               const Search& wanted = *static_cast<const Search*>(data);
               if (elf::loaded_range(*object).holds(wanted.here) || is_shim(object->dlpi_name)) return 0;
               const ElfW(Dyn)* dynamic = elf::loaded_dynamic(*object);
               return dynamic && elf::LoadedSymbols(dynamic, object->dlpi_addr).define(wanted.name) ? 1 : 0;
             },
             &search) != 0;
}

}  // namespace tasuki::shim::detail
