#include "cluster/settings/command_line.h"

#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/bytes.h"

namespace tasuki::cluster {
namespace {

// The command line's settings, with CLI11.
class Line {
 public:
  Line() : app_("Settings of a program with cluster memory, behind the last \"--\" of its command line") {
    for (const Setting* s : cluster_settings()) {
      const std::string name = short_name(*s);
      std::string help = s->help;
      const std::string_view subject = "Cluster memory: ";
      if (help.compare(0, subject.size(), subject) == 0) help.erase(0, subject.size());
      CLI::Option* option = app_.add_option((name == "memfile" ? "-f,--" : "--") + name, texts_[name], help);
      option->type_name(s->choices != nullptr ? s->choices : s->kind == SettingKind::flag ? "on|off" : "");
      option->take_last();
      // --stats and --checksum alone mean on; CLI11 would take a default string for the missing value.
      if (s->kind == SettingKind::flag || name == "stats")
        option->expected(0, 1);
      else
        option->default_str(s->default_value);
    }
  }

  Status parse(std::vector<std::string> arguments, Values* values, bool* help) {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
      *help = true;
      return {};
    } catch (const CLI::ParseError& e) {
      return Status::error(EINVAL,
                           std::string("behind \"--\": ") + e.what() + " (--help lists the settings)");
    }
    for (const auto& [name, text] : texts_) {
      const CLI::Option* option = app_.get_option("--" + name);
      if (option->count() > 0) (*values)[name] = {text.empty() ? "on" : text, "--" + name};
    }
    return {};
  }

  std::string help() { return app_.help(); }

 private:
  std::map<std::string, std::string> texts_;
  CLI::App app_;
};

std::string trimmed(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Status add_file(const std::string& path, Values* values) {
  std::ifstream stream(path);
  if (!stream) return Status::error(errno, path + ": " + strerror(errno) + " (the settings' file)");
  toml::table file;
  try {
    file = toml::parse(stream, path);
  } catch (const toml::parse_error& e) {
    return Status::error(
        EINVAL, path + ":" + std::to_string(e.source().begin.line) + ": " + std::string(e.description()));
  }
  for (const auto& [key, node] : file) {
    const std::string name(key.str());
    const std::string where = path + ":" + std::to_string(node.source().begin.line) + ": " + name;
    const std::vector<const Setting*> all = cluster_settings();
    if (std::none_of(all.begin(), all.end(), [&](const Setting* s) { return short_name(*s) == name; }) ||
        name == "config")
      return Status::error(EINVAL, where + " is not a setting (`tasuki settings` lists them, there as " +
                                       std::string(kSettingsPrefix) + "...)");
    std::string text;
    if (node.is_string())
      text = node.as_string()->get();
    else if (node.is_integer())
      text = std::to_string(node.as_integer()->get());
    else if (node.is_boolean())
      text = node.as_boolean()->get() ? "on" : "off";
    else
      return Status::error(EINVAL, where + " must be a string, a whole number, true or false");
    values->insert({name, {text, where}});
  }
  return {};
}

Result<MemorySizes> read_memory_sizes(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return cannot_read_sizes(path);
  MemorySizes sizes;
  sizes.file = path;
  for (std::string line; std::getline(stream, line);) {
    sizes.lines++;
    const std::string text = trimmed(line);
    if (text.empty()) continue;
    uint64_t value = 0;
    const bool plain = text.find_first_not_of("0123456789") == std::string::npos;
    if (!(plain ? parse_bytes(text + "MiB", ByteUnits::binary, &value)
                : parse_bytes(text, ByteUnits::binary, &value)) ||
        value == 0)
      return Status::error(EINVAL, path + ":" + std::to_string(sizes.lines) + ": \"" + text +
                                       "\" is not a number of MB, nor a size such as 20GiB");
    sizes.bytes.push_back(value);
  }
  return sizes;
}

Result<Options> read_options(const std::vector<std::string>& arguments, int ranks) {
  Line line;
  Values values;
  bool help = false;
  Status status = line.parse(arguments, &values, &help);
  if (!status.ok()) return status;
  if (help) {
    Options options;
    options.help = line.help();
    return options;
  }
  add_environment(&values, getenv);
  const auto config = values.find("config");
  if (config != values.end()) {
    status = add_file(config->second.text, &values);
    if (!status.ok()) return status;
  }
  return make_options(values, ranks, read_memory_sizes);
}

}  // namespace tasuki::cluster
