#include "os/process/topology.h"

#include <dlfcn.h>
#include <hwloc.h>

#include <cerrno>
#include <map>
#include <string>

#include "os/process/cpu.h"

namespace tasuki::os {
namespace {

constexpr const char* kLibrary = "libhwloc.so.15";  // of hwloc 2

struct Hwloc {
  decltype(&hwloc_topology_init) init;
  decltype(&hwloc_topology_set_flags) set_flags;
  decltype(&hwloc_topology_load) load;
  decltype(&hwloc_topology_abi_check) abi_check;
  decltype(&hwloc_topology_destroy) destroy;
  decltype(&hwloc_get_type_depth) type_depth;
  decltype(&hwloc_get_nbobjs_by_depth) count;
  decltype(&hwloc_get_obj_by_depth) object;
};

template <class F>
bool find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  return *function != nullptr;
}

bool find_all(void* library, Hwloc* h) {
  return find(library, "hwloc_topology_init", &h->init) &&
         find(library, "hwloc_topology_set_flags", &h->set_flags) &&
         find(library, "hwloc_topology_load", &h->load) &&
         find(library, "hwloc_topology_abi_check", &h->abi_check) &&
         find(library, "hwloc_topology_destroy", &h->destroy) &&
         find(library, "hwloc_get_type_depth", &h->type_depth) &&
         find(library, "hwloc_get_nbobjs_by_depth", &h->count) &&
         find(library, "hwloc_get_obj_by_depth", &h->object);
}

bool is_data_cache(hwloc_obj_type_t type) {
  return type >= HWLOC_OBJ_L1CACHE && type <= HWLOC_OBJ_L5CACHE;
}

// What a hardware thread is part of, from the inside out. A cache outside of the package is not the last
// level that is meant: packages share it.
CorePosition position_of(const hwloc_obj* thread, std::map<const hwloc_obj*, int>* numbers) {
  const hwloc_obj *silicon = thread, *cache = thread, *package = nullptr;
  for (const hwloc_obj* o = thread->parent; o != nullptr && package == nullptr; o = o->parent) {
    if (o->type == HWLOC_OBJ_CORE) silicon = o;
    if (is_data_cache(o->type)) cache = o;
    if (o->type == HWLOC_OBJ_PACKAGE) package = o;
  }
  // Where hwloc does not know the packages there is one, whose object is nullptr.
  const auto number = [&](const hwloc_obj* o) {
    return numbers->try_emplace(o, static_cast<int>(numbers->size())).first->second;
  };
  return {static_cast<int>(thread->os_index), number(silicon), number(cache), number(package)};
}

}  // namespace

Result<std::vector<CorePosition>> core_positions() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Status::error(ENOENT, std::string("hwloc cannot be loaded (") + dlerror() +
                                     "); on Debian: apt-get install libhwloc15");
  Hwloc h{};
  hwloc_topology_t topology = nullptr;
  if (!find_all(library, &h) || h.init(&topology) != 0)
    return Status::error(ENOENT, std::string(kLibrary) + " is not hwloc 2");
  std::vector<CorePosition> cores;
  if (h.set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 && h.load(topology) == 0 &&
      h.abi_check(topology) == 0) {
    const int depth = h.type_depth(topology, HWLOC_OBJ_PU);
    const unsigned count = h.count(topology, depth);
    std::map<const hwloc_obj*, int> numbers;
    for (unsigned i = 0; i < count; i++)
      if (const hwloc_obj* thread = h.object(topology, depth, i); thread->os_index < CpuSet::kMaxCores)
        cores.push_back(position_of(thread, &numbers));
  }
  h.destroy(topology);
  if (cores.empty()) return Status::error(ENODEV, "hwloc does not understand this machine");
  return cores;
}

}  // namespace tasuki::os
