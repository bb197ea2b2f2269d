// doctor: a program. It decides with the same code as `tasuki run`.

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/mpi_abi.h"
#include "os/files/paths.h"
#include "os/process/environment.h"
#include "os/process/executable.h"
#include "task/examine/preload.h"
#include "task/examine/program.h"
#include "tools/command.h"
#include "tools/doctor/doctor.h"

namespace tasuki::tool {
namespace {

const char* kSection = "program";

bool is_python(const std::string& path) {
  return path.substr(path.rfind('/') + 1).rfind("python", 0) == 0;
}

// What pyenv's shim of this name stands for; empty where there is no pyenv, or the path is not its shim.
std::string behind_pyenv_shim(const std::string& path) {
  if (path.find("/shims/") == std::string::npos) return {};
  std::istringstream lines(capture({"pyenv", "which", path.substr(path.rfind('/') + 1)}, 20).output);
  std::string found;
  std::getline(lines, found);
  return found;
}

// A Python of this machine whose ranks share an address space; empty if none is found where Pythons are.
std::string shareable_python() {
  std::vector<std::string> candidates;
  for (const std::string& directory : os::search_folders(getenv("PATH"))) {
    candidates.push_back(directory + "/python3");
    if (const std::string real = behind_pyenv_shim(candidates.back()); !real.empty())
      candidates.back() = real;
  }
  if (const char* home = getenv("HOME"); home != nullptr)
    for (const char* pattern : {"/.pyenv/versions/*/bin/python3", "/.local/share/uv/python/*/bin/python3",
                                "/miniforge3/bin/python3", "/miniconda3/bin/python3"}) {
      const std::vector<std::string> found = os::paths_like(std::string(home) + pattern);
      candidates.insert(candidates.end(), found.begin(), found.end());
    }
  for (const std::string& candidate : candidates) {
    const task::Program program = task::find_program({candidate}, getenv("PATH"));
    if (program.error == 0 && program.argv.size() == 1 && program.can_share()) return candidate;
  }
  return {};
}

std::string remedy_for(const task::Program& program) {
  using Kind = elf::Image::Kind;
  switch (program.image.kind) {
    case Kind::fixed_address: {
      const std::string other = is_python(program.path) ? shareable_python() : "";
      return program.remedy + (other.empty() ? "" : "; this Python can share: tasuki run " + other);
    }
    case Kind::static_program:
      return "link it dynamically, without -static or -static-pie";
    case Kind::dynamic_program:
      return program.image.sanitizer ? "build it without -fsanitize; sanitizer runs work as plain processes"
                                     : "";
    case Kind::foreign:
      break;
  }
  return "";
}

void examine_libraries(const task::Program& program, Report* report) {
  const std::vector<task::LoadedLibrary> libraries =
      task::trace_libraries(program.loader, program.canonical, os::environment_of_self());
  std::vector<std::string> names;
  bool complete = true;
  for (const task::LoadedLibrary& l : libraries) {
    names.push_back(l.name);
    if (l.path.empty()) {
      complete = false;
      report->push_back({kSection, "library", Verdict::problem,
                         l.name + " is not found: the program cannot start",
                         "install it, or add its directory to LD_LIBRARY_PATH"});
    }
  }
  if (!complete) return;
  switch (task::mpi_abi_of(names)) {
    case MpiAbi::unknown:
      report->push_back({kSection, "MPI", Verdict::note,
                         "it loads two MPI libraries; which one it uses is not clear, so it gets no shim",
                         "look with ldd for a library that was built for another MPI"});
      return;
    case MpiAbi::none:
      report->push_back(
          {kSection, "MPI", Verdict::note,
           "it is not linked with an MPI library that has a shim; one that it loads later (mpi4py) gets "
           "the shim that fits the launcher's MPI, if it has that ABI or the MPI-5 standard's",
           ""});
      return;
    case MpiAbi::openmpi:
    case MpiAbi::mpich:
    case MpiAbi::standard:
      break;
  }
  const MpiAbiNames& abi = *names_of(task::mpi_abi_of(names));
  for (const task::LoadedLibrary& l : libraries) {
    if (!is_library_of(abi, l.name)) continue;
    const MpiLibrary library = ask_mpi_library(l.path);
    const bool shim = shim_installed(library);
    report->push_back({kSection, "MPI", shim ? Verdict::ok : Verdict::note,
                       (library.version.empty() ? library.family : library.version) + ": " + l.path + ", " +
                           (shim ? "shim " + library.shim : "no shim installed, so messages stay with MPI"),
                       ""});
  }
}

// What the program itself calls that takes longer in a shared address space. Its libraries call more.
void examine_price(const task::Program& program, Report* report) {
  std::string calls;
  for (const char* name : {"fork", "mprotect", "madvise", "mremap"})
    if (task::calls_function(program, name)) calls += (calls.empty() ? "" : ", ") + std::string(name);
  if (calls.empty()) return;
  report->push_back(
      {kSection, "mappings", Verdict::note,
       "it calls " + calls + ": each call costs more the more ranks share an address space",
       "TASUKI_STATS=1 counts them, tasuki bench space measures what they cost here; ranks with "
       "TASUKI_SPACE=off share none"});
}

}  // namespace

void examine_program(const std::string& name, Report* report) {
  const task::Program program = task::find_program({name}, getenv("PATH"));
  if (program.error != 0) {
    report->push_back(
        {kSection, name, Verdict::problem, std::string("cannot be started: ") + strerror(program.error),
         program.error == ENOENT ? "is the path right? Names without a slash are looked up in PATH" : ""});
    return;
  }
  if (program.argv.size() > 1) {
    // exec makes a new address space: of a shell or env the task itself shares, but not what it becomes.
    const std::string interpreter = program.path.substr(program.path.rfind('/') + 1);
    bool starts_others = false;
    for (const char* shell : {"env", "sh", "bash", "dash", "zsh", "ksh", "csh", "tcsh"})
      starts_others |= interpreter == shell;
    const std::string script = program.argv.size() > 1 ? program.argv.back() : name;
    const std::string real = starts_others ? behind_pyenv_shim(script) : "";
    report->push_back(
        {kSection, name, starts_others ? Verdict::note : Verdict::ok,
         "is a script for " + program.path +
             (starts_others ? ": a program that it starts or becomes does not share the address space" : ""),
         !real.empty() ? "it is pyenv's stand-in for another program; name that one: tasuki run " + real
         : starts_others
             ? "name the program that it starts, or write tasuki run before that program inside the script"
             : ""});
    if (!real.empty()) return examine_program(real, report);
  }
  if (!program.can_share()) {
    report->push_back(
        {kSection, program.path, Verdict::problem,
         program.why_plain + ": it runs as a process of its own" +
             (task::can_take_shim(program) ? ", and its messages inside a node go through a segment"
                                           : ", with plain MPI"),
         remedy_for(program)});
    return;
  }
  report->push_back(
      {kSection, program.path, Verdict::ok,
       program.library.empty()
           ? "position independent, dynamically linked: its ranks share an address space"
           : "not position independent; its library is loaded instead, and its ranks share an address "
             "space: " +
                 program.library,
       ""});
  if (const char* setting = getenv("LD_PRELOAD"); setting != nullptr && *setting != '\0')
    report->push_back(
        {kSection, "LD_PRELOAD", Verdict::note, std::string(setting) + " is loaded into it too", ""});
  examine_libraries(program, report);
  examine_price(program, report);
}

}  // namespace tasuki::tool
