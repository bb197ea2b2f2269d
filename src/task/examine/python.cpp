#include "task/examine/python.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cctype>
#include <cstring>
#include <set>
#include <string_view>
#include <vector>

#include "elf/linking.h"
#include "os/files/descriptor.h"
#include "os/files/paths.h"
#include "os/process/environment.h"
#include "os/process/executable.h"
#include "task/examine/preload.h"
#include "task/examine/program.h"

namespace tasuki::task {
namespace {

constexpr size_t kMaxVersion = 24;       // bytes of its text
constexpr uint64_t kMaxText = 64 << 20;  // of one segment; Debian's python3 has 3 MiB

bool skip(std::string_view* text, std::string_view prefix) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

bool skip_number(std::string_view* text) {
  size_t n = 0;
  while (n < text->size() && isdigit(static_cast<unsigned char>((*text)[n])) != 0) n++;
  text->remove_prefix(n);
  return n > 0;
}

// python, python3, python3.11, python3.13t, python3.11d, and Debian's python3.11-dbg.
bool is_name_of_command(std::string_view name) {
  if (!skip(&name, "python")) return false;
  if (skip_number(&name) && skip(&name, ".") && !skip_number(&name)) return false;
  skip(&name, "t");
  if (!skip(&name, "d")) skip(&name, "-dbg");
  return name.empty();
}

// PY_VERSION: "3.9.2", "3.10.0rc2"; a "+" follows where it was built from a repository.
bool is_version(std::string_view text) {
  if (!skip_number(&text) || !skip(&text, ".") || !skip_number(&text) || !skip(&text, ".") ||
      !skip_number(&text))
    return false;
  if ((skip(&text, "rc") || skip(&text, "a") || skip(&text, "b")) && !skip_number(&text)) return false;
  skip(&text, "+");
  return text.empty();
}

std::string series_of(const std::string& version) {
  return version.substr(0, version.find('.', version.find('.') + 1));
}

// PY_VERSION_HEX: a byte for each of major, minor and micro, then four bits for the level and its number.
std::string version_of_hex(uint64_t hex) {
  const auto byte = [hex](int shift) { return std::to_string(hex >> shift & 0xff); };
  std::string version = byte(24) + "." + byte(16) + "." + byte(8);
  const uint64_t level = hex >> 4 & 0xf;
  if (level != 0xf) version += (level == 0xa ? "a" : level == 0xb ? "b" : "rc") + std::to_string(hex & 0xf);
  return version;
}

// Before 3.11 a file says its version in its texts only: the one that is a version, if its folder of modules
// ("lib/python3.9") is there too. (Others are those of libraries, such as SQLite's.) It may be the end of a
// longer text, because linkers merge those that end alike.
std::string version_in_texts(const elf::ByteSource& file, const elf::Image& image) {
  std::set<std::string> versions, series;
  for (const elf::Segment& s : image.segments) {
    if (s.file_size > kMaxText) continue;
    std::string bytes(s.file_size, '\0');
    if (!file.read(s.offset, bytes.data(), bytes.size())) continue;
    for (size_t at = 0; (at = bytes.find("3.", at)) != bytes.npos; at++) {
      const bool begins = at == 0 || strchr(".0123456789", bytes[at - 1]) == nullptr || bytes[at - 1] == '\0';
      std::string_view text = std::string_view(bytes).substr(at, kMaxVersion);
      text = text.substr(0, text.find('\0'));
      if (begins && is_version(text)) versions.emplace(text);
    }
    constexpr std::string_view kFolder = "python3.";
    for (size_t at = 0; (at = bytes.find(kFolder, at)) != bytes.npos; at++) {
      const std::string_view text = std::string_view(bytes).substr(at + strlen("python"), kMaxVersion);
      series.emplace(text.substr(0, text.find_first_not_of(".0123456789")));
    }
  }
  std::string found;
  for (const std::string& version : versions) {
    if (series.count(series_of(version)) == 0) continue;
    if (!found.empty()) return {};
    found = version;
  }
  return found;
}

// A file whose names can be asked for.
struct Code {
  elf::Linking linking;
  Python python;
};

std::optional<Code> read_code(const elf::ByteSource& file, const elf::Image& image) {
  if (!image.dynamic) return {};
  Result<elf::Linking> read = elf::read_linking(file, image);
  if (!read.ok()) return {};
  Code code{std::move(read.value()), {}};
  const elf::Linking& names = code.linking;
  if (names.find("Py_BytesMain") == nullptr || names.find("Py_GetVersion") == nullptr) return {};
  uint64_t hex = 0, offset = 0;
  if (const elf::Symbol* s = names.find("Py_Version"); s == nullptr)
    code.python.version = version_in_texts(file, image);
  else if (image.file_offset(s->value, sizeof hex, &offset) && file.read(offset, &hex, sizeof hex))
    code.python.version = version_of_hex(hex);
  if (code.python.version.empty()) return {};
  if (names.find("_Py_MergeZeroLocalRefcount") != nullptr) code.python.flavour += "t";
  if (names.find("_Py_NegativeRefcount") != nullptr) code.python.flavour += "d";
  return code;
}

// A name that `program` has for extension modules and `library` has not; empty: there is none.
std::string name_only_in(const elf::Linking& program, const elf::Linking& library) {
  for (const elf::Symbol& s : program.symbols) {
    std::string_view name = s.name;
    skip(&name, "_");
    if (s.defined && skip(&name, "Py") && library.find(s.name) == nullptr) return std::string(s.name);
  }
  return {};
}

// Where the dynamic linker finds it for the program; empty: nowhere.
std::string traced_library(const std::string& soname, const std::string& loader,
                           const std::string& canonical) {
  std::vector<std::string> environment = os::environment_of_self();
  os::set_variable(&environment, "LD_PRELOAD", soname);
  for (const LoadedLibrary& library : trace_libraries(loader, canonical, environment))
    if (library.name == soname) return library.path;
  return {};
}

// Empty: the library at `path` does what the program does.
std::string why_not_library(const std::string& path, const Code& program) {
  const os::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat st;
  if (!fd.valid() || fstat(fd.get(), &st) != 0) return path + " cannot be read";
  const elf::ByteSource file{fd.get(), nullptr, static_cast<uint64_t>(st.st_size)};
  const Result<elf::Image> image = elf::read_image(file);
  if (!image.ok() || !image.value().position_independent) return path + " is no library of this machine";
  if (image.value().sanitizer) return path + " is built with a sanitizer";
  const std::optional<Code> library = read_code(file, image.value());
  if (!library) return path + " has no Python in it";
  if (library->python.version != program.python.version)
    return path + " is of Python " + library->python.version + ", not " + program.python.version;
  const std::string name = name_only_in(program.linking, library->linking);
  const bool same = library->python.flavour == program.python.flavour && name.empty();
  return same ? "" : path + " is built otherwise" + (name.empty() ? "" : " (it has no " + name + ")");
}

std::vector<std::string> beside_prefix(const std::string& canonical, const std::string& soname) {
  const std::string bin = canonical.substr(0, canonical.rfind('/'));
  const std::string prefix = bin.substr(0, bin.rfind('/'));
  std::vector<std::string> found;
  for (const char* folder : {"/lib/", "/lib64/", "/lib/*-linux-*/"})
    for (std::string& path : os::paths_like(prefix + folder + soname)) found.push_back(std::move(path));
  return found;
}

}  // namespace

std::string Python::series() const {
  return series_of(version);
}

std::string Python::soname() const {
  return "libpython" + series() + flavour + ".so.1.0";
}

std::optional<Python> python_in(const elf::ByteSource& file, const elf::Image& image) {
  const std::optional<Code> code = read_code(file, image);
  return code ? std::optional(code->python) : std::nullopt;
}

std::optional<PythonLibrary> find_python_library(const std::string& canonical, const elf::ByteSource& file,
                                                 const elf::Image& image) {
  if (!is_name_of_command(canonical.substr(canonical.rfind('/') + 1))) return {};
  const std::string other = "use a Python that is position independent or was built with --enable-shared";
  const std::optional<Code> program = read_code(file, image);
  if (!program) return PythonLibrary{"", "is no CPython of version 3.8 or newer", other};
  const std::string soname = program->python.soname();
  PythonLibrary library;
  const auto take = [&](const std::string& path) {
    const std::string why = why_not_library(path, *program);
    if (why.empty()) library.path = path;
    if (library.why_none.empty()) library.why_none = why;
    return why.empty();
  };
  for (const std::string& path : beside_prefix(canonical, soname))
    if (take(path)) return library;
  // Another C library's loader may start the program when it is asked.
  const std::string path =
      can_preload(image.interpreter) ? traced_library(soname, image.interpreter, canonical) : "";
  if (!path.empty() && take(path)) return library;

  if (!library.why_none.empty()) {
    library.remedy = "install both from one source, or " + other;
    return library;
  }
  library.why_none = "its library " + soname + " is not installed";
  const std::string package =
      "libpython" + program->python.series() + (program->python.flavour == "d" ? "-dbg" : "");
  library.remedy = "Debian, Ubuntu: apt-get install " + package + "; elsewhere install what has this file";
  return library;
}

std::string python_main() {
  return os::own_prefix() + "/libexec/tasuki/python-main";
}

}  // namespace tasuki::task
