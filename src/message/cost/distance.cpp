#include "message/cost/distance.h"

#include <algorithm>
#include <cstring>

#include "base/take_word.h"

namespace tasuki::message {
namespace {

bool known(const uint16_t* numbers) {
  return std::any_of(numbers, numbers + os::CpuSet::kMaxCores, [](uint16_t n) { return n != 0; });
}

// The number that all `cores` have, or 0.
uint16_t common(const uint16_t* numbers, const os::CpuSet& cores) {
  uint16_t found = 0;
  bool several = false;
  os::for_each_core(cores, [&](int core) {
    several = several || (found != 0 && numbers[core] != found) || numbers[core] == 0;
    found = numbers[core];
  });
  return several ? 0 : found;
}

// "0-7,64-71 8-15,72-79"
bool parse_groups(std::string_view text, uint16_t* numbers) {
  uint16_t last = 0;
  while (!text.empty()) {
    const std::string_view list = take_word(&text, ' ');
    if (list.empty()) continue;
    os::CpuSet cores{};
    if (last == UINT16_MAX || !os::parse_core_list(list, &cores)) return false;
    last++;
    os::for_each_core(cores, [&](int core) { numbers[core] = last; });
  }
  return last != 0;
}

bool parse_section(std::string_view name, std::string_view text, CostTable* table) {
  if (name == "caches") return parse_groups(text, table->map.cache);
  if (name == "packages") return parse_groups(text, table->map.package);
  for (size_t d = 1; d < kDistances; d++) {
    if (name != kDistanceNames[d]) continue;
    if (!parse_costs(text, &table->at[d])) return false;
    for (size_t further = d + 1; further < kDistances; further++) table->at[further] = table->at[d];
    return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<CoreMap> core_map(const std::vector<os::CorePosition>& cores) {
  auto map = std::make_unique<CoreMap>();
  for (const os::CorePosition& c : cores) {
    map->cache[c.core] = static_cast<uint16_t>(c.cache + 1);
    map->package[c.core] = static_cast<uint16_t>(c.package + 1);
  }
  return map;
}

Place place_of(const CoreMap& map, const os::CpuSet& cores) {
  return {common(map.cache, cores), common(map.package, cores)};
}

Distance distance(Place a, Place b) {
  if (a.cache != 0 && a.cache == b.cache) return Distance::cache;
  return a.package != 0 && a.package == b.package ? Distance::package : Distance::machine;
}

bool find_pair(const CoreMap& map, const os::CpuSet& cores, Distance wanted, int pair[2]) {
  const auto place = [&](int core) { return Place{map.cache[core], map.package[core]}; };
  for (int a = 0; a < os::CpuSet::kMaxCores; a++) {
    if (!cores.has(a)) continue;
    for (int b = a + 1; b < os::CpuSet::kMaxCores; b++) {
      if (!cores.has(b) || distance(place(a), place(b)) != wanted) continue;
      pair[0] = a;
      pair[1] = b;
      return true;
    }
  }
  return false;
}

bool equal(const Costs& a, const Costs& b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

bool CostTable::several() const {
  return !equal(at[0], at[1]) || !equal(at[1], at[2]);
}

std::string format_table(const CostTexts& texts) {
  std::string all;
  const auto add = [&](const Costs& costs) {
    char text[512];
    format_costs(costs, text, sizeof text);
    all += text;
  };
  const auto add_groups = [&](const char* name, const std::vector<std::string>& groups) {
    if (groups.empty()) return;
    all += std::string("; ") + name + ":";
    for (const std::string& list : groups) all += " " + list;
  };
  add(texts.at[0]);
  for (size_t d = 1; d < kDistances; d++) {
    if (equal(texts.at[d], texts.at[d - 1])) continue;
    all += std::string("; ") + kDistanceNames[d] + ": ";
    add(texts.at[d]);
  }
  add_groups("caches", texts.caches);
  add_groups("packages", texts.packages);
  return all;
}

bool parse_table(std::string_view text, CostTable* table) {
  CostTable found{};
  if (!parse_costs(take_word(&text, ';'), &found.at[0])) return false;
  found.at[1] = found.at[2] = found.at[0];
  while (!text.empty()) {
    std::string_view section = take_word(&text, ';');
    std::string_view name = take_word(&section, ':');
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    if (!parse_section(name, section, &found)) return false;
  }
  if (found.several() && (!known(found.map.cache) || !known(found.map.package))) return false;
  *table = found;
  return true;
}

}  // namespace tasuki::message
