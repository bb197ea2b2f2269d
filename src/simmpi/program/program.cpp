#include "simmpi/program/program.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "elf/machine.h"
#include "os/memory/mapping.h"

namespace tasuki::simmpi {
namespace {

bool starts(std::string_view s, std::string_view prefix) {
  return s.substr(0, prefix.size()) == prefix;
}

// Libraries of which a process can have one only.
bool always_shared(const std::string& name) {
  for (const char* shared : {"libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "ld-linux",
                             "libgcc_s.so", "libstdc++.so", "libgomp.so", "libmvec.so"})
    if (starts(name, shared)) return true;
  return false;
}

bool in_system_folder(const std::string& path) {
  return starts(path, "/lib/") || starts(path, "/lib64/") || starts(path, "/usr/lib/") ||
         starts(path, "/usr/lib64/");
}

bool is_abi_library(const std::string& name) {
  return starts(name, "libmpi_abi.so");
}

// Those of Open MPI and MPICH, for C, C++ and Fortran, and what they are made of.
bool is_other_mpi(const std::string& name) {
  if (is_abi_library(name)) return false;
  for (const char* other :
       {"libmpi", "libpmpi", "libfmpi", "libfmpich", "libopen-rte.so", "libopen-pal.so", "liboshmem"})
    if (starts(name, other)) return true;
  return false;
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// The first such library that this process has; a library of the system may need one.
std::string loaded_other_mpi() {
  std::string found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        const std::string name = file_name(info->dlpi_name != nullptr ? info->dlpi_name : "");
        if (!is_other_mpi(name)) return 0;
        *static_cast<std::string*>(result) = name;
        return 1;
      },
      &found);
  return found;
}

Status other_mpi(const std::string& path, const std::string& name) {
  return Status::error(ENOTSUP,
                       path + ": is built for an MPI library of its own kind (" + name +
                           "), which would start inside the simulator; build it with `tasuki simcc` or an "
                           "mpicc_abi, C and C++ only");
}

std::vector<std::string> split_path(const char* text) {
  std::vector<std::string> result;
  for (std::string_view rest = text != nullptr ? text : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    if (end != 0) result.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result;
}

}  // namespace

Program::~Program() {
  for (void* library : libraries_) dlclose(library);
}

Result<std::unique_ptr<Program>> Program::open(const std::string& path, const Ours& ours) {
  if (os::page_size() != 4096)
    return Status::error(ENOTSUP, "this kernel's pages have " + std::to_string(os::page_size()) +
                                      " bytes; programs can be simulated with pages of 4096 only");
  std::unique_ptr<Program> program(new Program);
  program->ours_ = ours;
  auto image = Image::open(path);
  if (!image.ok()) return image.status();
  if (image.value()->file().entry == 0) return Status::error(ENOEXEC, path + ": a library, not a program");
  program->images_.push_back(std::move(image.value()));
  Status status = program->add_libraries();
  for (uint32_t i = 0; status.ok() && i < program->images_.size(); i++) status = program->bind(i);
  if (!status.ok()) return status;
  // Copies last, as ld.so has it: what they copy must have been relocated.
  std::stable_partition(program->bound_.begin(), program->bound_.end(),
                        [](const Bound& b) { return b.kind == Kind::word; });
  // Programs get copies of std::cout and the like, so these must have been constructed: up to GCC 12 a
  // program's own constructors do that, and would do it to the library's. Once for the process, never undone.
  for (void* library : program->libraries_)
    if (void* f = dlsym(library, "_ZNSt8ios_base4InitC1Ev"); f != nullptr) {
      static char standard_streams;
      reinterpret_cast<void (*)(void*)>(f)(&standard_streams);
      break;
    }
  for (void* library : program->libraries_)
    if (void* f = dlsym(library, "__cxa_get_globals"); f != nullptr && program->exception_globals == nullptr)
      program->exception_globals = reinterpret_cast<void* (*)()>(f);
  return program;
}

// Breadth first, which is the order of the search for names.
Status Program::add_libraries() {
  std::vector<std::string> seen;
  const std::string before = loaded_other_mpi();
  for (size_t i = 0; i < images_.size(); i++) {
    for (const std::string& name : std::vector(images_[i]->file().needed)) {
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
      seen.push_back(name);
      if (is_abi_library(name)) continue;
      if (is_other_mpi(file_name(name))) return other_mpi(images_[i]->path(), name);
      std::string own;
      if (name.find('/') != std::string::npos) {
        own = name;
      } else if (!always_shared(name)) {
        std::vector<std::string> folders = images_[i]->search();
        for (std::string& folder : split_path(getenv("LD_LIBRARY_PATH")))
          folders.push_back(std::move(folder));
        for (const std::string& folder : folders) {
          const std::string path = folder + "/" + name;
          if (access(path.c_str(), R_OK) != 0) continue;
          own = path;
          break;
        }
      }
      if (!own.empty() && !in_system_folder(own)) {
        auto image = Image::open(own);
        if (!image.ok()) return image.status();
        images_.push_back(std::move(image.value()));
        continue;
      }
      void* library = dlopen(own.empty() ? name.c_str() : own.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr)
        return Status::error(ENOENT, images_[i]->path() + " needs a library: " + dlerror());
      libraries_.push_back(library);
      if (const std::string other = loaded_other_mpi(); !other.empty() && before.empty())
        return other_mpi(images_[i]->path() + " needs " + name + ", which", other);
    }
  }
  return {};
}

Program::Found Program::lookup(std::string_view name, bool own_program) const {
  Found f;
  for (uint32_t i = own_program ? 0 : 1; i < images_.size(); i++)
    if (const elf::Symbol* s = images_[i]->linking().find(name))
      return {i, s->value, s->size, s->resolver, true};
  const std::string text(name);
  void* address = ours_(name);
  for (size_t i = 0; address == nullptr && i < libraries_.size(); i++)
    address = dlsym(libraries_[i], text.c_str());
  if (address != nullptr) return {kNowhere, reinterpret_cast<uint64_t>(address), 0, false, true};
  return f;
}

Status Program::bind(uint32_t in) {
  const Image& image = *images_[in];
  for (const elf::Relocation& r : image.linking().relocations) {
    Bound b{r.where, in, in, Kind::word, static_cast<uint64_t>(r.addend), 0};
    switch (r.type) {
      case elf::kRelative:
        break;
      case elf::kIndirect:
        b.kind = Kind::call;
        break;
      case elf::kAddress:
      case elf::kGlobal:
      case elf::kFunction:
      case elf::kCopy: {
        const elf::Symbol& symbol = image.linking().symbols[r.symbol];
        const bool copy = r.type == elf::kCopy;
        const Found f = lookup(symbol.name, !copy);
        const std::string name(symbol.name);
        if (!f.found && (copy || !symbol.weak))
          return Status::error(ENOENT, image.path() + ": undefined: " + name +
                                           (starts(name, "MPI_") || starts(name, "PMPI_")
                                                ? " (not a function of the standard ABI of MPI-5.0)"
                                                : ""));
        b.image = f.image;
        b.value =
            f.value + (r.type == elf::kAddress || elf::kAddsToAll ? static_cast<uint64_t>(r.addend) : 0);
        b.kind = copy ? Kind::copy : f.resolver ? Kind::call : Kind::word;
        b.size = symbol.size;
        if (copy && !image.file().holds(b.where, b.size, /*writable=*/true))
          return Status::error(ENOEXEC, image.path() + ": a copied variable outside the data: " + name);
        if (copy && b.image != kNowhere && !images_[b.image]->inside(b.value, b.size))
          return Status::error(ENOEXEC, image.path() + ": a copied variable of two sizes: " + name);
        break;
      }
      default:
        if (elf::is_thread_local(r.type))
          return Status::error(
              ENOTSUP, image.path() +
                           ": uses a thread-local variable, of which the simulator cannot make one for "
                           "each rank");
        return Status::error(
            ENOTSUP, image.path() + ": relocation type " + std::to_string(r.type) + " is not supported");
    }
    bound_.push_back(b);
  }
  return {};
}

Result<LoadedProgram> Program::load() const {
  LoadedProgram loaded;
  for (const auto& image : images_) {
    char* base = image->map();
    if (base == nullptr) {
      const int error = errno;
      unload(&loaded);
      return Status::error(
          error, image->path() + ": cannot be mapped once more: " + strerror(error) +
                     (error == ENOMEM ? " (a process has at most /proc/sys/vm/max_map_count mappings)" : ""));
    }
    loaded.bases.push_back(base);
  }
  for (const Bound& b : bound_) {
    char* where = loaded.bases[b.in] + b.where;
    const uint64_t from =
        b.value + (b.image == kNowhere ? 0 : reinterpret_cast<uint64_t>(loaded.bases[b.image]));
    uint64_t word = from;
    if (b.kind == Kind::copy) {
      memcpy(where, reinterpret_cast<void*>(from), b.size);
      continue;
    }
    if (b.kind == Kind::call) word = reinterpret_cast<uint64_t (*)()>(from)();
    memcpy(where, &word, sizeof word);
  }
  register_unwind(loaded, true);
  return loaded;
}

void Program::unload(LoadedProgram* loaded) const {
  if (loaded->bases.size() == images_.size()) register_unwind(*loaded, false);
  for (size_t i = 0; i < loaded->bases.size(); i++) images_[i]->unmap(loaded->bases[i]);
  loaded->bases.clear();
}

// The unwinder of the program's libstdc++ learns of code that ld.so did not load.
void Program::register_unwind(const LoadedProgram& loaded, bool on) const {
  if (exception_globals == nullptr) return;
  void (*f)(void*) = nullptr;
  for (void* library : libraries_)
    if (void* found = dlsym(library, on ? "__register_frame" : "__deregister_frame"); found != nullptr) {
      f = reinterpret_cast<void (*)(void*)>(found);
      break;
    }
  if (f == nullptr) return;
  for (size_t i = 0; i < images_.size(); i++)
    if (const uint64_t table = images_[i]->linking().unwind_table; table != 0) f(loaded.bases[i] + table);
}

void* Program::find(const LoadedProgram& loaded, std::string_view name) const {
  const Found f = lookup(name);
  if (!f.found) return nullptr;
  return reinterpret_cast<void*>(
      f.value + (f.image == kNowhere ? 0 : reinterpret_cast<uint64_t>(loaded.bases[f.image])));
}

void* Program::find_own(const LoadedProgram& loaded, std::string_view name) const {
  for (size_t i = 0; i < images_.size(); i++)
    if (const elf::Symbol* s = images_[i]->linking().find(name)) return loaded.bases[i] + s->value;
  return nullptr;
}

std::string Program::place(const LoadedProgram& loaded, const void* address) const {
  const char* p = static_cast<const char*>(address);
  for (size_t i = 0; i < loaded.bases.size(); i++) {
    if (p < loaded.bases[i] || p >= loaded.bases[i] + images_[i]->span()) continue;
    const std::string& path = images_[i]->path();
    char text[32];
    snprintf(text, sizeof text, "+0x%zx", static_cast<size_t>(p - loaded.bases[i]));
    return path.substr(path.rfind('/') + 1) + text;
  }
  return {};
}

}  // namespace tasuki::simmpi
