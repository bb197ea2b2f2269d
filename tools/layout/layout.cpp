// `tasuki layout`: what a datatype is to Tasuki: its normal form, its size and bounds, what copying it costs.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "layout/expression.h"
#include "tools/command.h"

namespace tasuki::tool {
namespace {

using nlohmann::json;

struct LayoutCommand {
  std::vector<std::string> words;
  bool json = false;
};

constexpr size_t kShown = 200;  // of a long description or expression

std::string shortened(const std::string& text) {
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

json facts(const std::string& what, const std::string& expression, const layout::Layout* l) {
  std::string text(layout::describe(l, nullptr, 0), '\0');
  layout::describe(l, text.data(), text.size() + 1);
  const layout::Cost cost = layout::cost_of(l);
  char hash[20];
  snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(layout::hash(l)));
  return {{"what", what},
          {"expression", expression},
          {"size", layout::size(l)},
          {"lower_bound", layout::lower_bound(l)},
          {"extent", layout::extent(l)},
          {"true_lower_bound", layout::true_lower_bound(l)},
          {"true_extent", layout::true_extent(l)},
          {"runs", layout::run_count(l)},
          {"average_run", layout::typical_run(l)},
          {"depth", layout::depth(l)},
          {"normal_form", text},
          {"cost_class", layout::name_of(cost.cost_class)},
          {"reason", cost.reason},
          {"hash", hash}};
}

void print(const json& f) {
  const auto number = [&f](const char* key) { return f[key].get<long long>(); };
  if (!f["what"].get<std::string>().empty()) printf("%s\n", f["what"].get<std::string>().c_str());
  printf("expression   %s\n", shortened(f["expression"].get<std::string>()).c_str());
  printf("normal form  %s\n", shortened(f["normal_form"].get<std::string>()).c_str());
  printf("size         %lld B in %lld run%s of %lld B on average, depth %lld\n", number("size"),
         number("runs"), number("runs") == 1 ? "" : "s", number("average_run"), number("depth"));
  printf("bounds       extent %lld B from %+lld; bytes: %lld B from %+lld\n", number("extent"),
         number("lower_bound"), number("true_extent"), number("true_lower_bound"));
  printf("cost class   %s: %s\n", f["cost_class"].get<std::string>().c_str(),
         f["reason"].get<std::string>().c_str());
  printf("hash         %s\n", f["hash"].get<std::string>().c_str());
}

using Owned = std::unique_ptr<const layout::Layout, decltype(&layout::release)>;

// Adds the facts of an expression; a syntax error is shown below the place where it is.
bool examine(const std::string& what, const std::string& expression, json* all) {
  size_t column = 0;
  Result<const layout::Layout*> l = layout::parse(expression, &column);
  if (!l.ok()) {
    if (expression.size() <= kShown && expression.find('\n') == std::string::npos)
      fprintf(stderr, "%s\n%*s\n", expression.c_str(), static_cast<int>(column), "^");
    log(LogLevel::error, "%s", l.status().message().c_str());
    return false;
  }
  const Owned owner(l.value(), layout::release);
  all->push_back(facts(what, expression, l.value()));
  return true;
}

bool examine_pattern(const layout::NamedPattern& pattern, const std::vector<std::string>& words, json* all) {
  std::vector<int64_t> sizes;
  for (const std::string& word : words) {
    char* end = nullptr;
    errno = 0;
    sizes.push_back(strtoll(word.c_str(), &end, 10));
    if (word.empty() || *end != '\0' || errno != 0) {
      log(LogLevel::error, "'%s' is not a size; %s takes: %s", word.c_str(), pattern.name,
          pattern.parameters);
      return false;
    }
  }
  Result<layout::PatternExpressions> e = layout::pattern_expressions(pattern, sizes);
  if (!e.ok()) {
    log(LogLevel::error, "%s", e.status().message().c_str());
    return false;
  }
  std::string numbers;
  for (const std::string& word : words) numbers += " " + word;
  const std::string name = pattern.name + (words.empty() ? " " + std::string(pattern.defaults) : numbers);
  if (e.value().send == e.value().receive) return examine(name, e.value().send, all);
  return examine(name + ", sent", e.value().send, all) &&
         examine(name + ", received", e.value().receive, all);
}

int show(const LayoutCommand& c) {
  if (c.words.empty()) {
    printf("%-14s  %-33s  %s\n", "pattern", "sizes", "default");
    for (size_t i = 0; i < layout::kPatternCount; i++)
      printf("%-14s  %-33s  %s\n", layout::kPatterns[i].name, layout::kPatterns[i].parameters,
             layout::kPatterns[i].defaults);
    printf("or an expression, e.g. 'vector(128, 1, 16, double)'\n");
    return 0;
  }
  json all = json::array();
  const layout::NamedPattern* pattern = layout::find_pattern(c.words[0]);
  if (pattern != nullptr) {
    if (!examine_pattern(*pattern, {c.words.begin() + 1, c.words.end()}, &all)) return 1;
  } else {
    std::string expression;  // unquoted blanks are no harm
    for (const std::string& word : c.words) expression += (expression.empty() ? "" : " ") + word;
    if (!examine("", expression, &all)) return 1;
  }
  if (c.json) {
    puts(all.dump(1).c_str());
    return 0;
  }
  for (size_t i = 0; i < all.size(); i++) {
    if (i > 0) puts("");
    print(all[i]);
  }
  return 0;
}

}  // namespace

void add_layout(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand(
      "layout", "Print the normal form of a datatype, its size, bounds and runs, and what copying it costs.");
  auto c = std::make_shared<LayoutCommand>();
  cmd->add_option("what", c->words,
                  "PATTERN [SIZES...], a pattern of `tasuki bench ddt`, or a C-like EXPRESSION such as "
                  "'struct{int[3]@0; vector(4, 2, 8, double)@16}'; none lists the patterns");
  cmd->add_flag("--json", c->json, "Print the result as JSON");
  cmd->callback([c, exit_code] { *exit_code = show(*c); });
}

}  // namespace tasuki::tool
