#include "base/unknown_settings.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/nearest.h"
#include "base/settings.h"

namespace tasuki {
namespace {

// What parts of Tasuki tell each other, or its tests tell them; a name that ends in _ is the beginning of
// several.
constexpr std::string_view kInternal[] = {"TASUKI_RANK",       "TASUKI_SIZE",      "TASUKI_HOME",
                                          "TASUKI_FARMED",     "TASUKI_MEM_ROOT",  "TASUKI_SEAT",
                                          "TASUKI_MEM_HIDDEN", "TASUKI_MEM_SIZES", "TASUKI_MEM_PARTS",
                                          "TASUKI_TEST_",      "TASUKI_BENCH_"};

}  // namespace

void warn_of_unknown_settings(const char* const* environment) {
  constexpr std::string_view kPrefix = "TASUKI_";
  std::vector<std::string_view> known;
  for (const Setting& s : settings())
    if (const std::string_view name = s.name; name.size() > kPrefix.size())
      known.push_back(name.substr(kPrefix.size()));
  for (; *environment != nullptr; environment++) {
    std::string_view name = *environment;
    name = name.substr(0, name.find('='));
    if (name.substr(0, kPrefix.size()) != kPrefix) continue;
    bool read = false;
    for (const Setting& s : settings()) read |= name == s.name;
    for (const std::string_view internal : kInternal)
      read |= name == internal || (internal.back() == '_' && name.substr(0, internal.size()) == internal);
    if (read) continue;
    const std::string_view meant = nearest(name.substr(kPrefix.size()), known);
    const std::string shown(name),
        hint = meant.empty() ? "" : "; is " + std::string(kPrefix) + std::string(meant) + " meant?";
    log(LogLevel::warning, "%s is set, but Tasuki has no such setting%s (`tasuki settings` lists all)",
        shown.c_str(), hint.c_str());
  }
}

}  // namespace tasuki
