#include "os/memory/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "os/files/text_file.h"
#include "os/memory/control_groups.h"

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

void apply_group(const ControlGroup& group, HostMemory* memory) {
  const auto file = [&group](const char* name) { return group.folder + "/" + name; };
  uint64_t limit = 0;
  if (!limit_of(file(memory_limit_file(group)), &limit)) return;
  memory->total = std::min(memory->total, limit);
  const std::string usage =
      file_or_empty(file(group.version == 1 ? "memory.usage_in_bytes" : "memory.current"));
  uint64_t used = strtoull(usage.c_str(), nullptr, 10);
  // Cached files count as used until something needs the room.
  uint64_t cached = 0;
  if (number_after(file_or_empty(file("memory.stat")), "inactive_file ", &cached))
    used -= std::min(used, cached);
  memory->available = std::min(memory->available, limit - std::min(limit, used));
}

}  // namespace

HostMemory host_memory(const std::string& root) {
  HostMemory memory;
  const std::string text = file_or_empty(root + "/proc/meminfo");
  if (!number_after(text, "MemTotal:", &memory.physical)) return memory;
  memory.physical <<= 10;
  memory.total = memory.physical;
  if (number_after(text, "MemAvailable:", &memory.available))
    memory.available <<= 10;
  else
    memory.available = memory.total;
  for (const ControlGroup& group : control_groups("memory", root)) apply_group(group, &memory);
  memory.available = std::min(memory.available, memory.total);
  return memory;
}

uint64_t physical_memory() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace tasuki::os
