#include "task/examine/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "elf/linking.h"
#include "os/files/descriptor.h"
#include "os/files/paths.h"
#include "os/process/executable.h"
#include "task/examine/python.h"

namespace tasuki::task {
namespace {

constexpr int kMaxScriptDepth = 5;   // as in the kernel
constexpr size_t kScriptLine = 255;  // BINPRM_BUF_SIZE, less the terminating 0

// What execvp would start; `name` again, and *error, if that would fail.
std::string search(const std::string& name, const char* path_list, int* error) {
  Result<std::string> found = os::find_in_path(name, path_list);
  *error = found.status().err();
  return found.ok() ? found.value() : name;
}

// "#!interpreter one argument": as the kernel reads it.
bool parse_script_line(const std::string& head, std::string* interpreter, std::string* argument) {
  if (head.compare(0, 2, "#!") != 0) return false;
  size_t end = head.find('\n');
  if (end == std::string::npos) end = head.size();
  std::string line = head.substr(2, end - 2);
  line.resize(strnlen(line.c_str(), line.size()));
  const char* const blank = " \t";
  const size_t first = line.find_first_not_of(blank);
  if (first == std::string::npos) return false;
  line = line.substr(first, line.find_last_not_of(blank) + 1 - first);
  const size_t gap = line.find_first_of(blank);
  *interpreter = line.substr(0, gap);
  argument->clear();
  if (gap != std::string::npos) *argument = line.substr(line.find_first_not_of(blank, gap));
  return true;
}

// "#!/usr/bin/env python3": env would execute the interpreter, and an executed program is no task of the
// space. So env's work is done here. True if `*argv` (env, its argument from the script's first line, the
// script ...) is such a call and the program is found; it is then argv without env. What env has options for,
// other than -S, is left to env itself.
bool resolve_env(std::vector<std::string>* argv, std::string* path, const char* path_list) {
  const std::string& env = (*argv)[0];
  if (env.substr(env.rfind('/') + 1) != "env" || argv->size() < 3) return false;
  std::vector<std::string> words;
  std::string argument = (*argv)[1];
  const bool split = argument.compare(0, 2, "-S") == 0;
  if (split) argument.erase(0, 2);
  // Quotes, variables and escapes of -S are env's own language.
  if (split && argument.find_first_of("'\"\\$#") != std::string::npos) return false;
  for (size_t at = 0; split && (at = argument.find_first_not_of(" \t", at)) != std::string::npos;) {
    const size_t end = std::min(argument.find_first_of(" \t", at), argument.size());
    words.push_back(argument.substr(at, end - at));
    at = end;
  }
  if (!split) words.push_back(argument);
  if (words.empty() || words[0].empty() || words[0][0] == '-' || words[0].find('=') != std::string::npos)
    return false;
  int error = 0;
  const std::string found = search(words[0], path_list, &error);
  if (error != 0) return false;  // env says so
  argv->erase(argv->begin(), argv->begin() + 2);
  argv->insert(argv->begin(), words.begin(), words.end());
  *path = found;
  return true;
}

bool same_user_and_capabilities(int fd, const struct stat& st, std::string* why) {
  if ((st.st_mode & (S_ISUID | S_ISGID)) != 0) return *why = "is setuid or setgid", false;
  if (fgetxattr(fd, "security.capability", nullptr, 0) > 0) return *why = "has file capabilities", false;
  return true;
}

// "2.36" in the text of glibc's ld.so ("ld.so (GNU libc) stable release version 2.36."), as 2036. Before 2.33
// it does not say; before 2.34 its file is named ld-2.31.so. 0: another C library.
int glibc_of(const std::string& path, const elf::ByteSource& loader) {
  int major = 0, minor = 0;
  std::error_code error;
  const std::string file = std::filesystem::canonical(path, error).filename();
  int end = 0;
  if (sscanf(file.c_str(), "ld-%d.%d.so%n", &major, &minor, &end) == 2 &&
      file.size() == static_cast<size_t>(end))
    return major * 1000 + minor;
  std::string text(loader.size, '\0');
  if (!loader.read(0, text.data(), text.size()) || text.find("ld.so (") == std::string::npos) return 0;
  constexpr std::string_view kBefore = "release version ";
  const size_t at = text.find(kBefore);
  if (at == std::string::npos || sscanf(text.c_str() + at + kBefore.size(), "%d.%d", &major, &minor) != 2)
    return 0;
  return major * 1000 + minor;
}

// The oldest glibc that what is preloaded into a task works with, 2028 for 2.28: the one that it was compiled
// for, which may be older than the one here.
#ifndef TASUKI_OLDEST_GLIBC  // scripts/dist/build.sh says it for releases
#define TASUKI_OLDEST_GLIBC (__GLIBC__ * 1000 + __GLIBC_MINOR__)
#endif
constexpr int kOldestGlibc = TASUKI_OLDEST_GLIBC;

constexpr uint64_t kMaxLoader = 64 << 20;

std::string check_loader(const std::string& path) {
  os::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) return "names a loader that cannot be read: " + path;
  const elf::ByteSource file{fd.get(), nullptr, static_cast<uint64_t>(st.st_size)};
  const Result<elf::Image> loader = elf::read_image(file);
  // A loader has no interpreter and is position independent; read_image calls such an image static.
  if (!loader.ok() || loader.value().kind != elf::Image::Kind::static_program ||
      loader.value().program_headers == 0 || file.size > kMaxLoader)
    return "has a loader that cannot be loaded twice: " + path;
  if (!can_preload(path))
    return "has a loader whose C library is not glibc " + std::to_string(kOldestGlibc / 1000) + "." +
           std::to_string(kOldestGlibc % 1000) + " or newer: " + path;
  return {};
}

// A program at a fixed address can share if it is an interpreter whose library can be loaded instead.
void examine_fixed_address(const elf::ByteSource& file, Program* p) {
  p->why_plain = "is not position independent";
  const std::optional<PythonLibrary> python = find_python_library(p->canonical, file, p->image);
  if (!python) {
    p->remedy = "build it with -fPIE -pie";
  } else if (python->path.empty()) {
    p->why_plain += ", and " + python->why_none;
    p->remedy = python->remedy;
  } else if (!os::can_read(python_main())) {
    p->why_plain += ", and " + python_main() + " is missing, which would run its library";
    p->remedy = "install Tasuki again";
  } else {
    p->library = python->path;
    p->why_plain.clear();
  }
}

// Fills in what the file at p->path says. Returns true if it is a script, with the interpreter to go on with.
bool examine(Program* p, std::string* interpreter, std::string* argument) {
  os::Fd fd(open(p->path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) {
    p->why_plain = "cannot be read, only executed";
    return false;
  }
  const elf::ByteSource file{fd.get(), nullptr, static_cast<uint64_t>(st.st_size)};
  if (!same_user_and_capabilities(fd.get(), st, &p->why_plain)) return false;

  std::string head(std::min<uint64_t>(kScriptLine, file.size), '\0');
  if (file.read(0, head.data(), head.size()) && parse_script_line(head, interpreter, argument)) return true;

  Result<elf::Image> image = elf::read_image(file);
  if (!image.ok()) {
    p->why_plain = "cannot be loaded here (" + image.status().message() + ")";
    return false;
  }
  p->image = std::move(image.value());
  if (p->image.kind == elf::Image::Kind::static_program) {
    p->why_plain = "is statically linked";
    return false;
  }
  char resolved[PATH_MAX];
  p->canonical = realpath(p->path.c_str(), resolved) != nullptr ? resolved : p->path;
  if (p->image.kind == elf::Image::Kind::fixed_address) examine_fixed_address(file, p);
  if (!p->why_plain.empty()) return false;
  if (p->image.sanitizer) {
    p->why_plain = "is built with a sanitizer, whose memory has a fixed address";
    return false;
  }
  p->why_plain = check_loader(p->image.interpreter);
  p->loader = p->image.interpreter;
  return false;
}

}  // namespace

bool calls_function(const Program& program, std::string_view name) {
  os::Fd fd(open(program.canonical.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) return false;
  const Result<elf::Linking> linking =
      elf::read_linking({fd.get(), nullptr, static_cast<uint64_t>(st.st_size)}, program.image);
  if (!linking.ok()) return false;
  for (const elf::Symbol& symbol : linking.value().symbols)
    if (!symbol.defined && symbol.name == name) return true;
  return false;
}

bool can_preload(const std::string& loader) {
  os::Fd fd(open(loader.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0 || static_cast<uint64_t>(st.st_size) > kMaxLoader)
    return false;
  return glibc_of(loader, {fd.get(), nullptr, static_cast<uint64_t>(st.st_size)}) >= kOldestGlibc;
}

bool can_take_shim(const Program& program) {
  using Kind = elf::Image::Kind;
  const elf::Image& image = program.image;
  return (image.kind == Kind::dynamic_program || image.kind == Kind::fixed_address) &&
         (!image.sanitizer || image.address_sanitizer) && can_preload(image.interpreter);
}

Program find_program(const std::vector<std::string>& argv, const char* path_list) {
  Program p;
  p.argv = argv;
  p.path = search(argv.empty() ? std::string() : argv[0], path_list, &p.error);
  for (int depth = 0; p.error == 0; depth++) {
    std::string interpreter, argument;
    if (!examine(&p, &interpreter, &argument)) return p;
    if (depth == kMaxScriptDepth) {
      p.error = ELOOP;
      return p;
    }
    // The kernel's argv for a script: interpreter, its argument, the script's path, the rest.
    std::vector<std::string> next{interpreter};
    if (!argument.empty()) next.push_back(argument);
    next.push_back(p.path);
    next.insert(next.end(), p.argv.begin() + (p.argv.empty() ? 0 : 1), p.argv.end());
    p.argv = std::move(next);
    p.path = interpreter.find('/') == std::string::npos ? "./" + interpreter : interpreter;
    p.error = os::why_not_executable(p.path);
    if (p.error == 0) resolve_env(&p.argv, &p.path, path_list);
  }
  return p;
}

MpiAbi mpi_abi_of(const std::vector<std::string>& libraries) {
  bool openmpi = false, mpich = false, standard = false;
  for (const std::string& path : libraries) {
    const std::string name = path.substr(path.rfind('/') + 1);
    // Fortran and C++ bindings come with the C library of the same MPI.
    for (const char* n : {"libmpi.so.40", "libmpi_mpifh.so.40", "libmpi_usempif08.so.40",
                          "libmpi_usempi_ignore_tkr.so.40", "libmpi_cxx.so.40"})
      openmpi |= name == n;
    for (const char* n : {"libmpich.so.12", "libmpi.so.12", "libmpichfort.so.12", "libmpifort.so.12",
                          "libmpichcxx.so.12", "libmpicxx.so.12"})
      mpich |= name == n;
    // Vendors name the compiler: Cray's libmpi_gnu_123.so.12.
    mpich |= name.compare(0, 7, "libmpi_") == 0 && name.size() > 6 &&
             name.compare(name.size() - 6, 6, ".so.12") == 0;
    // Before the standard fixed it, libraries had number 0; bindings (libmpifort_abi) bring the library.
    standard |= name.compare(0, 14, "libmpi_abi.so.") == 0;
  }
  // A standard library may be built on top of one with an ABI of its own; the program speaks to the former.
  if (standard) return MpiAbi::standard;
  if (openmpi == mpich) return openmpi ? MpiAbi::unknown : MpiAbi::none;
  return openmpi ? MpiAbi::openmpi : MpiAbi::mpich;
}

}  // namespace tasuki::task
