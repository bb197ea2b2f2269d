#include "os/process/executable.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace tasuki::os {

namespace {

std::string link_target(const std::string& link) {
  char path[PATH_MAX];
  const ssize_t n = readlink(link.c_str(), path, sizeof path);
  return n > 0 ? std::string(path, static_cast<size_t>(n)) : std::string();
}

}  // namespace

std::string own_executable() {
  return link_target("/proc/self/exe");
}

std::string executable_of(pid_t pid) {
  return link_target("/proc/" + std::to_string(pid) + "/exe");
}

std::string prefix_of(const std::string& program) {
  const size_t file = program.rfind('/');
  if (file == std::string::npos || file == 0) return {};
  const size_t folder = program.rfind('/', file - 1);
  return folder == std::string::npos ? std::string() : program.substr(0, folder);
}

std::string own_prefix() {
  std::string path = own_executable();
  if (path.empty()) return "..";
  path.resize(path.rfind('/'));
  constexpr std::string_view kPartsFolder = "/libexec/tasuki";
  path.resize(path.ends_with(kPartsFolder) ? path.size() - kPartsFolder.size()
                                           : path.rfind('/'));  // else .../bin
  return path;
}

int why_not_executable(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) return errno;
  if (!S_ISREG(file.st_mode)) return EACCES;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

std::vector<std::string> search_folders(const char* list) {
  const std::string text = list != nullptr ? list : "/bin:/usr/bin";
  std::vector<std::string> folders;
  for (size_t at = 0; at <= text.size();) {
    const size_t colon = std::min(text.find(':', at), text.size());
    folders.push_back(at == colon ? "." : text.substr(at, colon - at));
    at = colon + 1;
  }
  return folders;
}

Result<std::string> find_in_path(const std::string& name, const char* list) {
  const auto failure = [&name](int error) { return Status::error(error, name + ": " + strerror(error)); };
  if (name.empty()) return failure(ENOENT);
  if (name.find('/') != std::string::npos) {
    const int error = why_not_executable(name);
    if (error != 0) return failure(error);
    return name;
  }
  // What may not be executed is remembered; a file of this name may follow that may.
  bool denied = false;
  for (const std::string& folder : search_folders(list)) {
    std::string path = folder + "/" + name;
    const int error = why_not_executable(path);
    if (error == 0) return path;
    denied |= error == EACCES;
  }
  return failure(denied ? EACCES : ENOENT);
}

}  // namespace tasuki::os
