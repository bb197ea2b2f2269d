#include "task/examine/preload.h"
#include "os/process/environment.h"

#include <unistd.h>

#include <cstring>

#include "os/process/command.h"
#include "task/examine/launcher.h"

namespace tasuki::task {
namespace {

constexpr const char* kTaskObject = "libtasuki-task.so";

}  // namespace

std::vector<LoadedLibrary> trace_libraries(const std::string& loader, const std::string& path,
                                           const std::vector<std::string>& environment) {
  std::vector<std::string> env = environment;
  os::set_variable(&env, "LD_TRACE_LOADED_OBJECTS", "1");
  const Result<os::Captured> traced = os::capture({.argv = {loader, path},
                                                   .environment = env,
                                                   .input = os::kNull,
                                                   .errors = os::kNull,
                                                   .default_signals = true});
  if (!traced.ok() || !traced.value().status.ok()) return {};
  const std::string& text = traced.value().output;
  std::vector<LoadedLibrary> libraries;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    // "\tlibmpi.so.40 => /usr/lib/libmpi.so.40 (0x...)", "\tlibmpi.so.40 => not found", "\tlinux-vdso.so.1
    // (0x...)"
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.empty()) continue;
    const std::string name = line.substr(0, line.find(' '));
    constexpr std::string_view kArrow = " => ";
    const size_t arrow = line.find(kArrow);
    std::string file = arrow != std::string::npos ? line.substr(arrow + kArrow.size()) : line;
    if (const size_t address = file.rfind(" (0x"); address != std::string::npos) file.resize(address);
    libraries.push_back({name, file == "not found" ? "" : file});
  }
  return libraries;
}

MpiAbi linked_abi(MpiAbi direct, const std::string& loader, const std::string& path,
                  const std::vector<std::string>& environment) {
  if (direct != MpiAbi::none && direct != MpiAbi::unknown) return direct;
  std::vector<std::string> names;
  for (LoadedLibrary& library : trace_libraries(loader, path, environment))
    names.push_back(std::move(library.name));
  return mpi_abi_of(names);
}

MpiAbi decide_abi(MpiAbi direct, MpiAbi launcher, const std::string& loader, const std::string& path,
                  const std::vector<std::string>& environment) {
  const MpiAbi linked = linked_abi(direct, loader, path, environment);
  if (linked != MpiAbi::none) return linked;
  // A program without MPI may still load it later (an interpreter does): then it is the launcher's. Slurm's
  // PMIx is what Open MPI speaks; a shim that does not fit in the end stays out of the way.
  const bool pmix = os::variable(environment, "PMIX_RANK") != nullptr;
  return launcher == MpiAbi::none && pmix ? MpiAbi::openmpi : launcher;
}

bool preload_can_name(const std::string& library_dir) {
  return library_dir.find_first_of(" \t\n:") == std::string::npos;
}

std::string add_preload(std::vector<std::string>* environment, const std::string& library_dir, MpiAbi abi,
                        bool is_task) {
  if (!preload_can_name(library_dir)) return {};  // said already: it is why the program runs plainly
  // Behind what the user preloads: a tool that finds the next MPI_Send by dlsym(RTLD_NEXT) must find the
  // shim's, not the MPI library's. Tools that call PMPI_Send find the shim's too, from any place.
  std::string value, problem;
  if (const char* users = os::variable(*environment, "LD_PRELOAD"); users != nullptr) value = users;
  const auto append = [&value](const std::string& path) { value += (value.empty() ? "" : ":") + path; };
  bool added = false;
  if (const MpiAbiNames* names = names_of(abi)) {
    const std::string path = library_dir + "/" + names->shim;
    if (access(path.c_str(), R_OK) == 0) {
      append(path);
      added = true;
    } else {
      problem = path +
                " is missing: programs run without the MPI shim, so their messages stay with the MPI library";
    }
  }
  if (is_task) {
    const std::string path = library_dir + "/" + kTaskObject;
    if (access(path.c_str(), R_OK) == 0) {
      append(path);
      added = true;
    }
  }
  if (added) os::set_variable(environment, "LD_PRELOAD", value);
  return problem;
}

}  // namespace tasuki::task
