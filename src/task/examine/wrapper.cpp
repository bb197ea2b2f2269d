#include "task/examine/wrapper.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace tasuki::task {
namespace {

struct Wrapper {
  std::string_view name;
  const char* flags;       // letters of options without a value
  const char* with_value;  // letters of options whose value stands behind them, or is the next word
  std::string_view flags_long[6];
  std::string_view long_with_value[8];
  size_t operands;       // words between the options and the program
  bool assigns = false;  // words NAME=VALUE stand before the program
};

// Any other option ends the search: with it the command does something else (taskset -p), or nothing is known
// about it.
constexpr Wrapper kWrappers[] = {
    {"taskset", "ac", "", {"all-tasks", "cpu-list"}, {}, 1},
    {"numactl",
     "alb",
     "iwpPmNC",
     {"all", "localalloc", "balancing", "all-cpus"},
     {"interleave", "weighted-interleave", "preferred", "preferred-many", "membind", "cpunodebind",
      "physcpubind"},
     0},
    {"env", "i0v", "uC", {"ignore-environment", "null", "debug"}, {"unset", "chdir"}, 0, true},
    {"nice", "", "n", {}, {"adjustment"}, 0},
    {"ionice", "t", "cn", {"ignore"}, {"class", "classdata"}, 0},
    {"stdbuf", "", "ioe", {}, {"input", "output", "error"}, 0},
    {"nohup", "", "", {}, {}, 0},
};

bool contains(const auto& list, std::string_view word) {
  return !word.empty() && std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// Words that the option at `word` takes, 0 if it is none that is known.
size_t words_of_option(const Wrapper& w, std::string_view word) {
  if (word.substr(0, 2) == "--") {
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(2, equals == word.npos ? equals : equals - 2);
    if (contains(w.long_with_value, name)) return equals == word.npos ? 2 : 1;
    return equals == word.npos && contains(w.flags_long, name) ? 1 : 0;
  }
  if (w.name == "env" && word == "-") return 1;
  // nice -5
  if (w.name == "nice" && word.find_first_not_of("0123456789", 1) == word.npos && word.size() > 1) return 1;
  for (size_t i = 1; i < word.size(); i++) {
    if (strchr(w.with_value, word[i]) != nullptr) return i + 1 < word.size() ? 1 : 2;
    if (strchr(w.flags, word[i]) == nullptr) return 0;
  }
  return word.size() > 1 ? 1 : 0;
}

}  // namespace

size_t behind_wrapper(const std::vector<std::string>& command) {
  if (command.empty()) return 0;
  const std::string name = command[0].substr(command[0].rfind('/') + 1);
  const auto w = std::find_if(std::begin(kWrappers), std::end(kWrappers),
                              [&](const Wrapper& k) { return k.name == name; });
  if (w == std::end(kWrappers)) return 0;
  size_t at = 1;
  while (at < command.size() && !command[at].empty() && command[at][0] == '-') {
    if (command[at] == "--") {
      at++;
      break;
    }
    const size_t taken = words_of_option(*w, command[at]);
    if (taken == 0) return 0;
    at += taken;
  }
  at += w->operands;
  while (w->assigns && at < command.size() && command[at].find('=') != std::string::npos) at++;
  return at < command.size() ? at : 0;
}

}  // namespace tasuki::task
