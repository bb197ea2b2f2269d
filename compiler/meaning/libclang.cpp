#include "compiler/meaning/libclang.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/settings.h"
#include "os/process/executable.h"

namespace tasuki::cc {
namespace {

namespace fs = std::filesystem;

constexpr int kOldest = 14;
constexpr int kNewest = 40;  // the highest number that is tried; one that does not exist costs a look

Libclang g_libclang;

std::vector<fs::path> entries(const fs::path& directory) {
  std::vector<fs::path> result;
  std::error_code error;
  for (fs::directory_iterator i(directory, error), end; !error && i != end; i.increment(error))
    result.push_back(i->path());
  std::sort(result.begin(), result.end());
  return result;
}

// The first number in a text; 0 for none.
int number_in(const std::string& text) {
  const size_t at = text.find_first_of("0123456789");
  return at == std::string::npos ? 0 : atoi(text.c_str() + at);
}

// Where the Python package libclang is in the environment whose bin holds tasukicc.
std::vector<std::string> of_python() {
  std::vector<std::string> result;
  for (const fs::path& python : entries(os::own_prefix() + "/lib"))
    if (python.filename().string().starts_with("python"))
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path library = python / packages / "clang/native/libclang.so";
        if (std::error_code error; fs::exists(library, error)) result.push_back(library);
      }
  return result;
}

// Distributions keep it among the system's libraries under a name with its version, or in LLVM's own folder.
std::vector<std::string> of_system() {
  std::vector<std::string> result;
  for (int version = kNewest; version >= kOldest; version--) {
    const std::string number = std::to_string(version);
    for (const char* folder : {"/usr/lib/llvm-", "/usr/lib64/llvm", "/usr/lib/llvm"})
      for (const fs::path& library : entries(folder + number + "/lib"))
        if (library.filename().string().starts_with("libclang.so") ||
            library.filename().string().starts_with("libclang-" + number + ".so"))
          result.push_back(library);
    result.push_back("libclang-" + number + ".so." + number);
    result.push_back("libclang.so." + number);
  }
  for (const char* name : {"libclang-14.so.13", "libclang.so.13", "libclang.so"}) result.push_back(name);
  return result;
}

// Empty if it was loaded, else why not.
std::string load(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  Libclang found;
  const char* missing = nullptr;
#define TASUKI_LIBCLANG_FIND(name)                                                     \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(library, "clang_" #name)); \
  if (found.name == nullptr) missing = "clang_" #name;
  TASUKI_LIBCLANG(TASUKI_LIBCLANG_FIND)
#undef TASUKI_LIBCLANG_FIND
  std::string why;
  if (missing != nullptr) {
    why = path + " lacks " + missing;
  } else {
    const CXString version = found.getClangVersion();
    const std::string text = found.getCString(version);
    found.disposeString(version);
    if (number_in(text) < kOldest) why = path + " is too old (" + text + ")";
  }
  if (why.empty())
    g_libclang = found;
  else
    dlclose(library);
  return why;
}

}  // namespace

bool load_libclang(std::string* error) {
  if (g_libclang.createIndex != nullptr) return true;
  if (const std::string named = setting_text("TASUKI_LIBCLANG"); !named.empty() && named != "auto") {
    *error = load(named);
    if (error->empty()) return true;
    *error = "TASUKI_LIBCLANG names no libclang that can be used: " + *error;
    return false;
  }
  std::vector<std::string> places = of_python();
  const std::vector<std::string> system = of_system();
  places.insert(places.end(), system.begin(), system.end());
  std::string found;  // why a library that is there cannot be used
  for (const std::string& place : places) {
    const std::string why = load(place);
    if (why.empty()) return true;
    std::error_code ignored;
    if (found.empty() && (why.starts_with(place + " ") || fs::exists(place, ignored))) found = why;
  }
  *error = "needs libclang " + std::to_string(kOldest) + " or newer, and finds none" +
           (found.empty() ? "" : " that can be used (" + found + ")") +
           ". Install it by `pip install libclang` in the environment of tasukicc, or by `apt-get install "
           "libclang1-14` "
           "(Debian 12; elsewhere another number), or name its file in TASUKI_LIBCLANG";
  return false;
}

const Libclang& libclang() {
  return g_libclang;
}

}  // namespace tasuki::cc
