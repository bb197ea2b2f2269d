#include "os/files/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tasuki::os {

Result<std::string> make_temporary_folder(const std::string& name) {
  const char* base = getenv("TMPDIR");
  std::string path = (base != nullptr && *base != 0 ? base : "/tmp") + ("/" + name) + "-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return Status::error(errno, path + ": " + strerror(errno));
  return path;
}

Status TemporaryFolder::make(const std::string& name) {
  Result<std::string> made = make_temporary_folder(name);
  if (!made.ok()) return made.status();
  path_ = std::move(made.value());
  return {};
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace tasuki::os
