#include "mpi/library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/settings.h"
#include "elf/loaded.h"
#include "os/files/paths.h"
#include "os/process/executable.h"
#include "os/process/process.h"
#include "os/process/self.h"

namespace tasuki::mpi {
namespace {

// A function that every MPI library has, and nothing that only stands in front of one: no shim of Tasuki.
constexpr const char* kMark = "PMPI_Wtime";
constexpr const char* kSetting = "TASUKI_MPI_LIBRARY";

// The object that `address` belongs to, as dladdr sees it.
const void* object_base(const void* address) {
  Dl_info info;
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Libraries of the MPI-5 standard ABI have this name, and say so themselves; all others answer -1 or have no
// such function.
bool is_standard_abi(const std::string& path, void* handle) {
  if (is_library_of(*names_of(MpiAbi::standard), file_name(path))) return true;
  int major = -1, minor = -1;
  const auto version = reinterpret_cast<int (*)(int*, int*)>(dlsym(handle, "PMPI_Abi_get_version"));
  return version != nullptr && version(&major, &minor) == 0 && major > 0;
}

// Fills in what the object behind a handle is. An MPI library defines the mark itself: `base` is where the
// object lies, nullptr if unknown (dlsym on a handle also finds what the object's dependencies define, and on
// the program's own handle what a preloaded object does).
bool is_mpi_library(void* handle, const std::string& path, const void* base, Library* library) {
  const void* const found = object_base(dlsym(handle, kMark));
  if (found == nullptr || found == object_base(&kSetting) || (base != nullptr && found != base)) return false;
  library->handle = handle;
  library->base = found;
  library->path = path;
  library->family = is_standard_abi(path, handle)                     ? MpiAbi::standard
                    : dlsym(handle, "ompi_mpi_comm_world") != nullptr ? MpiAbi::openmpi
                                                                      : MpiAbi::mpich;
  return true;
}

Status wrong_family(MpiAbi wanted, const Library& found, const std::string& why) {
  return Status::error(EINVAL, "this library of Tasuki is for " + std::string(names_of(wanted)->title) +
                                   ", but " + why + " " + found.path + ", is of " +
                                   names_of(found.family)->title +
                                   ": compile and start the program with one MPI (MPICC=... tasukicc)");
}

}  // namespace

std::vector<Library> loaded_libraries() {
  struct Object {
    std::string name;
    uintptr_t begin;
  };
  // First the list, then the look-ups: dlopen inside the iteration could deadlock.
  std::vector<Object> objects;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* list) {
        // The program itself has no name. One that contains its MPI library resolves MPI_* to itself.
        if (object->dlpi_name != nullptr && *object->dlpi_name != 0)
          static_cast<std::vector<Object>*>(list)->push_back(
              {object->dlpi_name, elf::loaded_range(*object).begin});
        return 0;
      },
      &objects);
  std::vector<Library> libraries;
  for (const Object& object : objects) {
    void* const handle = dlopen(object.name.c_str(), RTLD_NOLOAD | RTLD_LAZY);
    if (handle == nullptr) continue;
    Library library;
    if (is_mpi_library(handle, object.name, reinterpret_cast<const void*>(object.begin), &library))
      libraries.push_back(std::move(library));
    else
      dlclose(handle);
  }
  return libraries;
}

Result<Library> load_library(const std::string& name) {
  // Global, as if the program were linked with it: Open MPI's plug-ins may refer to it.
  void* const handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  if (handle == nullptr) return Status::error(ENOENT, dlerror());
  Library library;
  if (!is_mpi_library(handle, name, nullptr, &library)) {
    dlclose(handle);
    return Status::error(EINVAL, name + " is no MPI library");
  }
  // Its file, where the name is only a soname.
  Dl_info info;
  if (dladdr(dlsym(handle, kMark), &info) != 0 && info.dli_fname != nullptr) library.path = info.dli_fname;
  return library;
}

void run_destructors(const Library& library) {
  link_map* object = nullptr;
  // The program has no name, and destructors of its own.
  if (dlinfo(library.handle, RTLD_DI_LINKMAP, &object) != 0 || object->l_name[0] == 0) return;
  using Function = void (*)();
  const Function* functions = nullptr;
  size_t count = 0;
  Function last = nullptr;
  for (const ElfW(Dyn)* d = object->l_ld; d->d_tag != DT_NULL; d++) {
    const uintptr_t address = object->l_addr + d->d_un.d_ptr;
    if (d->d_tag == DT_FINI_ARRAY) functions = reinterpret_cast<const Function*>(address);
    if (d->d_tag == DT_FINI_ARRAYSZ) count = d->d_un.d_val / sizeof(Function);
    if (d->d_tag == DT_FINI) last = reinterpret_cast<Function>(address);
  }
  // The compiler's own entry of the array calls the exit handlers (__cxa_finalize).
  for (size_t i = functions != nullptr ? count : 0; i-- > 0;) functions[i]();
  if (last != nullptr) last();
}

bool is_launcher(const std::string& program) {
  for (const char* name :
       {"mpirun", "mpiexec", "mpiexec.hydra", "mpiexec.gforker", "hydra_pmi_proxy", "hydra_bstrap_proxy",
        "orterun", "orted", "prterun", "prted", "prte", "prun", "mpirun_rsh", "mpispawn"})
    if (program == name) return true;
  return false;
}

std::vector<std::string> libraries_below(const std::string& prefix, MpiAbi family) {
  std::vector<std::string> files;
  for (const char* folder : {"/lib/", "/lib64/", "/lib/release/"})
    for (const char* const* name = names_of(family)->sonames; *name != nullptr; name++)
      if (os::can_read(prefix + folder + *name)) files.push_back(prefix + folder + *name);
  return files;
}

std::vector<std::string> libraries_of_launcher(MpiAbi family, bool* found) {
  *found = false;
  std::vector<std::string> files;
  pid_t pid = os::parent_of_self();
  for (int depth = 0; depth < 64 && pid > 1; depth++, pid = os::parent_of(pid)) {
    const std::string program = os::executable_of(pid);
    if (!is_launcher(file_name(program))) continue;
    *found = true;
    for (std::string& file : libraries_below(os::prefix_of(program), family))
      files.push_back(std::move(file));
    if (!files.empty()) break;
  }
  return files;
}

Result<Library> find_or_load(MpiAbi family) {
  const std::vector<Library> loaded = loaded_libraries();
  for (const Library& library : loaded)
    if (library.family == family) return library;
  if (!loaded.empty())
    return wrong_family(family, loaded.front(), "the MPI library that the program has loaded,");

  const std::string named = setting_text(kSetting);
  if (named != "auto") {
    Result<Library> library = load_library(named);
    if (!library.ok())
      return Status::error(library.status().err(), std::string(kSetting) + ": " + library.status().message());
    if (library.value().family != family)
      return wrong_family(family, library.value(), "the one that " + std::string(kSetting) + " names,");
    return library;
  }
  bool has_launcher = false;
  std::vector<std::string> candidates = libraries_of_launcher(family, &has_launcher);
  const Result<std::string> mpirun = os::find_in_path("mpirun", getenv("PATH"));
  if (!has_launcher && mpirun.ok()) {
    char* const real = realpath(mpirun.value().c_str(), nullptr);
    for (const std::string& program : {mpirun.value(), std::string(real != nullptr ? real : "")})
      for (std::string& file : libraries_below(os::prefix_of(program), family))
        candidates.push_back(std::move(file));
    free(real);
  }
  for (const char* const* name = names_of(family)->sonames; *name != nullptr; name++)
    candidates.emplace_back(*name);
  std::string reason;
  for (const std::string& candidate : candidates) {
    Result<Library> library = load_library(candidate);
    if (library.ok() && library.value().family == family) return library;
    if (!library.ok()) reason = library.status().message();
  }
  return Status::error(ENOENT, "no MPI library of " + std::string(names_of(family)->title) +
                                   " found: neither beside the launcher nor where the "
                                   "dynamic linker looks (" +
                                   reason + "): " + kSetting + "=/path/to/" + names_of(family)->sonames[0] +
                                   " or LD_LIBRARY_PATH says where it is");
}

void* Symbols::find(const char* name) const {
  const void* const here = object_base(&kSetting);
  void* found = dlsym(RTLD_DEFAULT, name);
  if (found != nullptr && object_base(found) == here) found = dlsym(RTLD_NEXT, name);
  const void* const base = object_base(found);
  const bool is_another = std::any_of(all_.begin(), all_.end(), [&](const Library& other) {
    return other.base == base && other.base != library_.base;
  });
  return found != nullptr && base != here && !is_another ? found : dlsym(library_.handle, name);
}

}  // namespace tasuki::mpi
