#include "os/files/paths.h"

#include <glob.h>
#include <unistd.h>

namespace tasuki::os {

bool can_read(const std::string& path) {
  return access(path.c_str(), R_OK) == 0;
}

std::vector<std::string> paths_like(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

}  // namespace tasuki::os
