#include "os/process/cpu.h"

#include <algorithm>
#include <charconv>

#include "os/files/text_file.h"

namespace tasuki::os {

void hardware_threads(const CpuSet& cores, uint16_t first[CpuSet::kMaxCores]) {
  const std::string folder = "/sys/devices/system/cpu/";
  const bool several = first_line(folder + "smt/active") == "1";
  for_each_core(cores, [&](int core) {
    first[core] = static_cast<uint16_t>(core);
    CpuSet threads{};
    if (!several ||
        !parse_core_list(first_line(folder + "cpu" + std::to_string(core) + "/topology/thread_siblings_list"),
                         &threads))
      return;
    int lowest = core;
    for_each_core(threads, [&](int thread) { lowest = std::min(lowest, thread); });
    first[core] = static_cast<uint16_t>(lowest);
  });
}

std::string core_list(const CpuSet& set) {
  std::string text;
  for (int first = 0; first < CpuSet::kMaxCores; first++) {
    if (!set.has(first)) continue;
    int last = first;
    while (last + 1 < CpuSet::kMaxCores && set.has(last + 1)) last++;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
    first = last;
  }
  return text;
}

// "8" or "0-7".
static bool add_range(std::string_view text, CpuSet* set) {
  const char *at = text.data(), *const end = at + text.size();
  const auto number = [&](int* core) {
    const auto [stop, error] = std::from_chars(at, end, *core);
    at = stop;
    return error == std::errc() && *core >= 0 && *core < CpuSet::kMaxCores;
  };
  int first = 0;
  if (!number(&first)) return false;
  int last = first;
  if (at < end && *at++ == '-' && !number(&last)) return false;
  for (int core = first; core <= last; core++) set->add(core);
  return at == end && first <= last;
}

bool parse_core_list(std::string_view text, CpuSet* set) {
  CpuSet found{};
  for (;;) {
    const size_t comma = text.find(',');
    if (!add_range(text.substr(0, comma), &found)) return false;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  *set = found;
  return true;
}

}  // namespace tasuki::os
