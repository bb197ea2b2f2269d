#include "os/process/machine.h"

#include <sched.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "os/files/text_file.h"
#include "os/memory/host_memory.h"
#include "os/process/cpu.h"

namespace tasuki::os {
namespace {

// The value after `key` and a separator in a file of "key: value" or "key=value" lines.
std::string find_value(const std::string& path, const std::string& key) {
  const std::string text = file_or_empty(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end_of_line = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end_of_line - at);
    at = end_of_line + 1;
    if (line.compare(0, key.size(), key) != 0) continue;
    const size_t separator = line.find_first_of(":=", key.size());
    if (separator == std::string::npos) continue;
    if (line.find_first_not_of(" \t", key.size()) != separator) continue;  // a longer key
    const size_t begin = line.find_first_not_of(" \t\"", separator + 1);
    if (begin == std::string::npos) return "";
    const size_t end = line.find_last_not_of(" \t\"");
    return line.substr(begin, end - begin + 1);
  }
  return "";
}

std::vector<std::pair<std::string, uint64_t>> caches() {
  std::vector<std::pair<std::string, uint64_t>> found;
  for (int i = 0; i < 8; i++) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    const std::string level = first_line(folder + "level"), size = first_line(folder + "size");
    if (level.empty() || size.empty()) break;
    if (first_line(folder + "type") != "Instruction")
      found.emplace_back("L" + level,
                         std::strtoull(size.c_str(), nullptr, 10) * (size.back() == 'M' ? 1 << 20 : 1 << 10));
  }
  return found;
}

}  // namespace

MachineDescription describe_machine() {
  utsname name{};
  uname(&name);
  cpu_set_t usable;
  CPU_ZERO(&usable);
  sched_getaffinity(0, sizeof usable, &usable);
  const std::string flags = find_value("/proc/cpuinfo", "flags");
  return {
      .cpu = find_value("/proc/cpuinfo", "model name"),
      .cores = online_cores(),
      .cores_usable = CPU_COUNT(&usable),
      .memory_bytes = physical_memory(),
      .kernel = std::string(name.sysname) + " " + name.release,
      .system = find_value("/etc/os-release", "PRETTY_NAME"),
      .architecture = name.machine,
      .caches = caches(),
      .hypervisor = (" " + flags + " ").find(" hypervisor ") != std::string::npos,
      .governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
  };
}

bool has_cross_memory_attach() {
  char from = 1, to = 0;
  const iovec local{&to, 1}, remote{&from, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

}  // namespace tasuki::os
