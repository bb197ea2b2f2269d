#include "os/memory/host_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "os/files/text_file.h"

namespace tasuki::os {
namespace {

// The number behind `key` at the start of a line; false if there is none.
bool number_after(const std::string& text, const char* key, uint64_t* value) {
  const size_t length = strlen(key);
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    if (text.compare(at, length, key) == 0) {
      *value = strtoull(text.c_str() + at + length, nullptr, 10);
      return true;
    }
    if (text.find('\n', at) == std::string::npos) break;
  }
  return false;
}

// "max" and v1's huge number mean no limit.
bool limit_of(const std::string& path, uint64_t* value) {
  const std::string text = file_or_empty(path);
  if (text.empty() || text.compare(0, 3, "max") == 0) return false;
  *value = strtoull(text.c_str(), nullptr, 10);
  return *value < UINT64_MAX / 4;
}

struct Files {
  const char* limit;
  const char* usage;
};

void apply_group(const std::string& directory, const Files& files, HostMemory* memory) {
  uint64_t limit = 0;
  if (!limit_of(directory + "/" + files.limit, &limit)) return;
  memory->total = std::min(memory->total, limit);
  uint64_t used = strtoull(file_or_empty(directory + "/" + files.usage).c_str(), nullptr, 10);
  // Cached files count as used until something needs the room.
  uint64_t cached = 0;
  if (number_after(file_or_empty(directory + "/memory.stat"), "inactive_file ", &cached))
    used -= std::min(used, cached);
  memory->available = std::min(memory->available, limit - std::min(limit, used));
}

// The group and all groups above it: each limit counts. In a container the path may be one of the host's that
// does not exist here; the top is then the container's own group.
void apply_hierarchy(const std::string& mount, std::string path, const Files& files, HostMemory* memory) {
  while (true) {
    apply_group(mount + (path == "/" ? "" : path), files, memory);
    if (path.empty() || path == "/") return;
    path.resize(path.rfind('/'));
  }
}

}  // namespace

HostMemory host_memory(const std::string& root) {
  HostMemory memory;
  const std::string text = file_or_empty(root + "/proc/meminfo");
  if (!number_after(text, "MemTotal:", &memory.total)) return memory;
  memory.total <<= 10;
  if (number_after(text, "MemAvailable:", &memory.available))
    memory.available <<= 10;
  else
    memory.available = memory.total;
  // Lines "number:controllers:path"; v2 has number 0 and no controllers.
  const std::string groups = file_or_empty(root + "/proc/self/cgroup");
  for (size_t at = 0; at < groups.size();) {
    size_t end = groups.find('\n', at);
    if (end == std::string::npos) end = groups.size();
    const std::string line = groups.substr(at, end - at);
    at = end + 1;
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,")
      apply_hierarchy(root + "/sys/fs/cgroup", path, {"memory.max", "memory.current"}, &memory);
    else if (controllers.find(",memory,") != std::string::npos)
      apply_hierarchy(root + "/sys/fs/cgroup/memory", path,
                      {"memory.limit_in_bytes", "memory.usage_in_bytes"}, &memory);
  }
  memory.available = std::min(memory.available, memory.total);
  return memory;
}

}  // namespace tasuki::os
