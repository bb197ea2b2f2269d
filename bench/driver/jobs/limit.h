// What a user would do instead of lending memory: a limit of memory for programs, with swap space behind it.
// Both need rights that many machines do not give; the errors say which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/jobs/holder.h"

namespace tasuki::bench {

// A control group of this process's own (version 1 or 2), gone when this object or this process is.
class MemoryLimit {
 public:
  Status make();
  Status set(uint64_t bytes);
  // Words that start a program in it.
  std::vector<std::string> command() const;
  const std::string& folder() const { return folder_; }

 private:
  Holder holder_;
  std::string folder_, limit_file_;
};

// Swap space, or a folder for mapped files. Kinds:
//   swap-disk, file-disk   on the disk that has `folder`
//   swap-zram              compressed memory
//   file-ram               on a block device whose blocks are in main memory: the fastest disk that there could be
// No swap space on such a device: under a limit of memory the loop device waits for pages that only it could
// write out, and the program cannot be killed any more (Linux 6.18, tmpfs and ramfs).
class Space {
 public:
  Status make(const std::string& kind, uint64_t bytes, const std::string& folder);
  const std::string& folder() const { return folder_; }  // for mapped files; empty for swap space

 private:
  Holder holder_;
  std::string folder_;
};

}  // namespace tasuki::bench
