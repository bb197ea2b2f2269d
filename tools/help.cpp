#include "tools/help.h"

#include <utility>

namespace tasuki::tool {
namespace {

// What follows the options of a command that takes another command's words.
std::string words_that_follow(const CLI::App& app) {
  if (!app.get_prefix_command()) return {};
  if (app.get_name() == "simcc") return " ARGUMENTS...";
  return app.get_name() == "sim" ? " [PROGRAM [ARGUMENTS...]]" : " PROGRAM [ARGUMENTS...]";
}

// "INT:INT in [1 - 9]" is "INT in [1 - 9]", "TEXT:{a,b}" is "{a,b}", and a size with all that CLI11 knows of
// it is "SIZE".
std::string short_type(std::string text) {
  if (text.find(":SIZE [") != std::string::npos) {
    const size_t end = text.find(']', text.find(" in ["));
    return " SIZE" + (end == std::string::npos ? "" : text.substr(end + 1));
  }
  const size_t colon = text.find(':');
  if (colon == std::string::npos) return text;
  if (text[colon + 1] == '{') return " " + text.substr(colon + 1);
  const std::string type = text.substr(1, colon - 1);
  if (text.compare(colon + 1, type.size() + 1, type + " ") == 0) return " " + text.substr(colon + 1);
  return text;
}

}  // namespace

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = CLI::Formatter::make_usage(app, std::move(name));
  const size_t end = usage.find_last_not_of('\n');
  return usage.insert(end == std::string::npos ? usage.size() : end + 1, words_that_follow(*app));
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return short_type(CLI::Formatter::make_option_opts(option));
}

}  // namespace tasuki::tool
