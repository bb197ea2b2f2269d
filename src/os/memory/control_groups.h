// The control groups that limit this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tasuki::os {

struct ControlGroup {
  std::string folder;  // in a container it may be one of the host's, which is not there
  int version;         // 1 or 2: files for the same purpose have other names
};

// Where "memory", "cpu" or another controller may have a limit for this process: its own group first, then
// those around it up to the top, which in a container is the container's own. `root` stands before every
// path: a recorded machine in tests.
std::vector<ControlGroup> control_groups(std::string_view controller, const std::string& root = "");

// The same from the texts of /proc/self/mounts and /proc/self/cgroup.
std::vector<ControlGroup> control_groups_of(std::string_view mounts, std::string_view own,
                                            std::string_view controller);

// The file with a group's limit of memory.
const char* memory_limit_file(const ControlGroup& group);

}  // namespace tasuki::os
