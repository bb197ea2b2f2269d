#include "dlm/options.h"

#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "base/log.h"
#include "base/settings.h"

namespace tasuki::dlm {
namespace {

constexpr std::string_view kPrefix = "TASUKI_DLM_";

// "page-size" for TASUKI_DLM_PAGE_SIZE.
std::string short_name(const Setting& setting) {
  std::string name(std::string_view(setting.name).substr(kPrefix.size()));
  for (char& c : name) c = c == '_' ? '-' : static_cast<char>(tolower(c));
  return name;
}

std::vector<const Setting*> table() {
  std::vector<const Setting*> found;
  for (const Setting& setting : settings())
    if (std::string_view(setting.name).substr(0, kPrefix.size()) == kPrefix) found.push_back(&setting);
  return found;
}

// A setting's text and where it was given, for messages.
struct Given {
  std::string text, where;
};
using Values = std::map<std::string, Given, std::less<>>;  // by short name

// The command line's settings, with CLI11.
class Line {
 public:
  Line() : app_("Settings of a program with cluster memory, behind the last \"--\" of its command line") {
    for (const Setting* s : table()) {
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

void add_environment(Values* values) {
  for (const Setting* s : table()) {
    const char* text = getenv(s->name);
    if (text != nullptr && *text != 0) values->insert({short_name(*s), {text, s->name}});
  }
}

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
    const std::vector<const Setting*> all = table();
    if (std::none_of(all.begin(), all.end(), [&](const Setting* s) { return short_name(*s) == name; }) ||
        name == "config")
      return Status::error(EINVAL, where + " is not a setting (`tasuki settings` lists them, there as " +
                                       std::string(kPrefix) + "...)");
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

// Turns texts into options; keeps the first error.
class Reader {
 public:
  explicit Reader(const Values& values) : values_(values) {}
  const Status& status() const { return status_; }

  const Given* given(const char* name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }

  template <typename Enum>
  void choice(const char* name, Enum* value) {
    const Given* g = given(name);
    if (g == nullptr) return;
    const char* choices = find(name).choices;
    int index = 0;
    if (parse_choice(g->text, choices, &index))
      *value = static_cast<Enum>(index);
    else
      refuse(*g, std::string("one of ") + choices);
  }

  void flag(const char* name, bool* value) {
    const Given* g = given(name);
    if (g != nullptr && !parse_flag(g->text, value)) refuse(*g, "on or off");
  }

  void count(const char* name, uint64_t least, uint64_t most, uint64_t* value) {
    const Given* g = given(name);
    uint64_t n = 0;
    if (g == nullptr) return;
    if (parse_count(g->text, &n) && n >= least && n <= most)
      *value = n;
    else
      refuse(*g, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }

  // Stays 0 for "auto".
  void bytes_or_auto(const char* name, uint64_t* value) {
    const Given* g = given(name);
    if (g == nullptr || g->text == "auto") return;
    uint64_t n = 0;
    if (parse_bytes(g->text, &n) && n > 0)
      *value = n;
    else
      refuse(*g, "auto, or a size such as 500MiB or 20GiB");
  }

  void refuse(const Given& g, const std::string& accepted) {
    if (status_.ok())
      status_ = Status::error(EINVAL, g.where + " = \"" + g.text + "\": accepted is " + accepted);
  }

 private:
  static const Setting& find(const char* name) {
    for (const Setting* s : table())
      if (short_name(*s) == name) return *s;
    abort();  // a name that is not in the table: unit-tested
  }

  const Values& values_;
  Status status_;
};

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() > end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

void read_stats(Reader* reader, Options* options) {
  const Given* g = reader->given("stats");
  if (g == nullptr) return;
  if (parse_flag(g->text, &options->stats)) return;
  if (!ends_with(g->text, ".json") && !ends_with(g->text, ".html"))
    return reader->refuse(*g, "on, off, or the name of a file that ends in .json or .html");
  options->stats = true;
  options->stats_file = g->text;
}

void read_page_size(Reader* reader, Options* options) {
  uint64_t page = 0;
  reader->bytes_or_auto("page-size", &page);
  if (page % 4096 != 0 || page > (2u << 20))
    reader->refuse(*reader->given("page-size"), "auto, or a multiple of 4KiB up to 2MiB");
  options->pager.page_bytes = page;
}

std::string trimmed(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Result<std::vector<uint64_t>> read_memfile(const std::string& path, int ranks) {
  std::ifstream stream(path);
  if (!stream) return Status::error(errno, path + ": " + strerror(errno) + " (the file of memory sizes)");
  std::vector<uint64_t> bytes;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    number++;
    const std::string text = trimmed(line);
    if (text.empty()) continue;
    uint64_t value = 0;
    const bool plain = text.find_first_not_of("0123456789") == std::string::npos;
    if (!(plain ? parse_bytes(text + "MiB", &value) : parse_bytes(text, &value)) || value == 0)
      return Status::error(EINVAL, path + ":" + std::to_string(number) + ": \"" + text +
                                       "\" is not a number of MB, nor a size such as 20GiB");
    bytes.push_back(value);
  }
  const size_t wanted = static_cast<size_t>(ranks);
  if (bytes.size() < wanted)
    return Status::error(EINVAL, path + ":" + std::to_string(number) + ": the file ends after " +
                                     std::to_string(bytes.size()) + " sizes, but the job has " +
                                     std::to_string(ranks) + " ranks: a line for each is needed");
  if (bytes.size() > wanted)
    log(LogLevel::warning, "%s has %zu sizes, but the job has %d ranks: the last ones are not used",
        path.c_str(), bytes.size(), ranks);
  bytes.resize(wanted);
  return bytes;
}

Result<Options> read_options(const std::vector<std::string>& arguments, int ranks) {
  Options options;
  Values values;
  Status status = Line().parse(arguments, &values, &options.help);
  if (!status.ok()) return status;
  if (options.help) return options;
  add_environment(&values);
  const auto config = values.find("config");
  if (config != values.end()) {
    status = add_file(config->second.text, &values);
    if (!status.ok()) return status;
  }

  Reader reader(values);
  reader.bytes_or_auto("local", &options.pager.local_bytes);
  reader.bytes_or_auto("memory", &options.memory);
  read_page_size(&reader, &options);
  reader.choice("protocol", &options.pager.protocol);
  reader.choice("replacement", &options.pager.replacement);
  reader.choice("prefetch", &options.pager.prefetch);
  reader.choice("copies", &options.pager.copies);
  reader.choice("faults", &options.pager.faults);
  uint64_t replicas = 1;
  reader.count("replicas", 1, 2, &replicas);
  options.replicas = static_cast<uint32_t>(replicas);
  uint64_t threads = 1;
  reader.count("threads", 1, 64, &threads);
  options.threads = static_cast<uint32_t>(threads);
  reader.choice("fill", &options.fill);
  reader.choice("compress", &options.compress);
  reader.flag("checksum", &options.checksum);
  reader.choice("window", &options.window);
  reader.count("timeout", 0, 1'000'000, &options.timeout_s);
  read_stats(&reader, &options);
  if (!reader.status().ok()) return reader.status();

  if (const Given* memfile = reader.given("memfile")) {
    Result<std::vector<uint64_t>> bytes = read_memfile(memfile->text, ranks);
    if (!bytes.ok()) return bytes.status();
    options.memfile = std::move(bytes.value());
  }
  return options;
}

std::string options_help() {
  return Line().help();
}

}  // namespace tasuki::dlm
