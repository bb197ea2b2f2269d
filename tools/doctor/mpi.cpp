// doctor: the MPI launchers and libraries of this machine.
#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "base/mpi_abi.h"
#include "os/files/paths.h"
#include "os/files/streams.h"
#include "os/process/executable.h"
#include "os/process/self.h"
#include "tools/command.h"
#include "tools/doctor/doctor.h"

namespace tasuki::tool {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const char* text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text != nullptr ? text : "");
  for (std::string part; std::getline(in, part, at);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

bool starts_with(const std::string& s, const char* prefix) {
  return s.rfind(prefix, 0) == 0;
}

// mpirun, mpiexec and their variants (mpirun.openmpi, mpiexec.hydra) on PATH, in its order. The first mpirun
// is what the user gets by that name.
std::vector<std::string> launchers_on_path() {
  std::vector<std::string> found;
  for (const std::string& dir : split(getenv("PATH"), ':')) {
    std::set<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(dir, error)) {
      const std::string name = entry.path().filename();
      for (const char* stem : {"mpirun", "mpiexec"})
        if (name == stem || starts_with(name, (std::string(stem) + ".").c_str())) names.insert(name);
    }
    for (const std::string& name : names)
      if (os::why_not_executable(dir + "/" + name) == 0) found.push_back(dir + "/" + name);
  }
  return found;
}

// What `mpirun --version` says, in a few words; empty if it says nothing that we know.
std::string launcher_version(const std::string& path) {
  const std::string text = capture({path, "--version"}, 10, true).output;
  std::istringstream lines(text);
  std::string first;
  std::getline(lines, first);
  const auto last_word = [](const std::string& line) { return line.substr(line.find_last_of(' ') + 1); };
  if (first.find("(OpenRTE)") != std::string::npos || first.find("(Open MPI)") != std::string::npos)
    return "Open MPI " + last_word(first);
  if (first.find("Intel(R) MPI") != std::string::npos) {
    const size_t at = first.find("Version ");
    return "Intel MPI " +
           (at != std::string::npos ? first.substr(at + 8, first.find(' ', at + 8) - at - 8) : "");
  }
  if (starts_with(first, "HYDRA")) {
    std::string line;
    std::getline(lines, line);
    return "Hydra " + last_word(line);
  }
  return "";
}

// libmpi.so.40, libmpich.so.12, libmpi_abi.so.1, but not libmpi_cxx.so.40 and not the unversioned link for
// compilers.
bool is_mpi_library_name(const std::string& name) {
  return std::any_of(std::begin(kMpiAbis), std::end(kMpiAbis),
                     [&](const MpiAbiNames& abi) { return is_library_of(abi, name); });
}

// Libraries that a program may meet: beside the launchers, on LD_LIBRARY_PATH, in the loader's cache. One
// each.
std::vector<std::string> libraries(const std::vector<std::string>& launchers) {
  std::vector<std::string> candidates;
  std::vector<std::string> dirs = split(getenv("LD_LIBRARY_PATH"), ':');
  for (const std::string& launcher : launchers) {
    const fs::path root = fs::path(launcher).parent_path().parent_path();
    dirs.push_back(root / "lib");
    dirs.push_back(root / "lib/release");  // Intel MPI
  }
  for (const std::string& dir : dirs) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(dir, error))
      if (is_mpi_library_name(entry.path().filename())) candidates.push_back(entry.path());
  }
  const char* ldconfig = os::why_not_executable("/sbin/ldconfig") == 0 ? "/sbin/ldconfig" : "ldconfig";
  std::istringstream cache(capture({ldconfig, "-p"}, 10).output);
  for (std::string line; std::getline(cache, line);) {
    const size_t arrow = line.find(" => ");
    const size_t start = line.find_first_not_of(" \t");
    if (arrow != std::string::npos && is_mpi_library_name(line.substr(start)))
      candidates.push_back(line.substr(arrow + 4));
  }
  std::set<std::string> seen;
  std::vector<std::string> unique;
  for (const std::string& path : candidates) {
    char real[PATH_MAX];
    if (realpath(path.c_str(), real) != nullptr && seen.insert(real).second) unique.push_back(path);
  }
  return unique;
}

}  // namespace

void speak_for_mpi_library(const std::string& path) {
  // MPI libraries start helpers and print when they are loaded in odd surroundings: what they print is no
  // answer.
  const os::Fd answers = os::silence();
  std::string answer;
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
    answer = dlsym(handle, "ompi_mpi_comm_world") != nullptr ? "o" : "m";
    // May be called before MPI_Init. The longest version string of any MPI is 8191 characters (MPICH).
    if (void* symbol = dlsym(handle, "MPI_Get_library_version"); symbol != nullptr) {
      static char text[16384];
      int length = 0;
      reinterpret_cast<int (*)(char*, int*)>(symbol)(text, &length);
      answer += text;
    }
  }
  os::write_all(answers.get(), answer);
  std::_Exit(0);  // not what the library does at the end
}

MpiLibrary ask_mpi_library(const std::string& path) {
  MpiLibrary library;
  library.path = path;
  const std::string answer =
      capture({os::own_prefix() + "/bin/tasuki", "doctor", "--library", path}, 20).output;

  const std::string name = fs::path(path).filename();
  if (is_library_of(*names_of(MpiAbi::standard), name)) {
    library.family = "MPI-5 standard ABI";
    library.shim = names_of(MpiAbi::standard)->shim;
  } else if (answer.empty() ? starts_with(name, "libmpi.so.40") : answer[0] == 'o') {
    library.family = "Open MPI";
    library.shim = names_of(MpiAbi::openmpi)->shim;
  } else {
    library.family = "MPICH family";
    library.shim = names_of(MpiAbi::mpich)->shim;
  }
  if (!answer.empty()) library.version = answer.substr(1, answer.find_first_of("\n,", 1) - 1);
  for (char& c : library.version)
    if (c == '\t') c = ' ';
  // "MPICH Version:      4.0.2", "Open MPI v4.1.4": one space is enough.
  for (size_t at; (at = library.version.find("  ")) != std::string::npos;) library.version.erase(at, 1);
  return library;
}

bool shim_installed(const MpiLibrary& library) {
  return !library.shim.empty() && os::can_read(os::own_prefix() + "/lib/tasuki/" + library.shim);
}

void examine_mpi(Report* report) {
  const char* section = "MPI";
  const std::vector<std::string> launchers = launchers_on_path();
  // One line a launcher, however many names it has; the name that PATH finds first is the one shown first.
  std::map<std::string, std::vector<std::string>> names;
  std::vector<std::string> order;
  for (const std::string& launcher : launchers) {
    char real[PATH_MAX];
    if (realpath(launcher.c_str(), real) == nullptr) continue;
    std::vector<std::string>& known = names[real];
    if (known.empty()) order.push_back(real);
    const std::string name = fs::path(launcher).filename();
    const bool listed = std::any_of(known.begin(), known.end(),
                                    [&](const std::string& k) { return fs::path(k).filename() == name; });
    if (!listed) known.push_back(known.empty() ? launcher : name);
  }
  bool has_open_mpi_5 = false;
  for (const std::string& real : order) {
    const std::string version = launcher_version(real);
    has_open_mpi_5 = has_open_mpi_5 || starts_with(version, "Open MPI 5");
    std::string called = names[real][0];
    for (size_t i = 1; i < names[real].size(); i++) called += ", " + names[real][i];
    if (version.empty()) {
      report->push_back({section, "launcher", Verdict::note,
                         called + ": its --version names no launcher that Tasuki knows",
                         "Tasuki is tested under the launchers of Open MPI, MPICH and Intel MPI"});
    } else {
      report->push_back({section, "launcher", Verdict::ok, version + ": " + called, ""});
    }
    if (starts_with(version, "Open MPI") && os::is_root() && getenv("OMPI_ALLOW_RUN_AS_ROOT") == nullptr)
      report->push_back({section, "launcher", Verdict::note, "Open MPI's mpirun refuses to run as root",
                         "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"});
  }
  if (has_open_mpi_5 && getenv("PMIX_MCA_gds") == nullptr)
    report->push_back({section, "launcher", Verdict::note,
                       "Open MPI 5's mpirun crashes when a program under tasuki run calls MPI_Comm_spawn",
                       "for such programs: export PMIX_MCA_gds=hash before mpirun"});
  const std::vector<std::string> found = libraries(launchers);
  for (const std::string& path : found) {
    const MpiLibrary library = ask_mpi_library(path);
    const bool says_family = starts_with(library.version, library.family.c_str());
    const std::string text = (library.version.empty() ? library.family
                              : says_family           ? library.version
                                                      : library.version + " (" + library.family + ")") +
                             ": " + path;
    if (library.version.empty()) {
      report->push_back({section, "library", Verdict::note, text + ": cannot be loaded",
                         "see what ldd " + path + " misses"});
    } else if (!shim_installed(library)) {
      report->push_back({section, "library", Verdict::note,
                         text + ": no shim installed, so messages stay with MPI",
                         "build Tasuki with this MPI's mpicc present; expected " + os::own_prefix() +
                             "/lib/tasuki/" + library.shim});
    } else {
      report->push_back({section, "library", Verdict::ok, text + ", shim " + library.shim, ""});
    }
  }
  if (order.empty() || found.empty())
    report->push_back({section, order.empty() ? "launcher" : "library", Verdict::note,
                       "no MPI found: tasuki run -n N works without one",
                       "apt-get install openmpi-bin libopenmpi-dev, or mpich libmpich-dev"});
}

}  // namespace tasuki::tool
