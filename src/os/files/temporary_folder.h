// Folders of a run's own.
#pragma once

#include <string>

#include "base/status.h"

namespace tasuki::os {

// Makes a folder below $TMPDIR, else /tmp, whose name is `name` with a dash and six characters. Whoever calls
// it removes it. The error names the path that was tried.
Result<std::string> make_temporary_folder(const std::string& name);

// The same, removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() = default;
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  Status make(const std::string& name);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tasuki::os
