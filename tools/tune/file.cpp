// The file of `tasuki tune`, and what `tasuki run` makes of it.
#include <toml++/toml.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/log.h"
#include "base/settings.h"
#include "os/files/text_file.h"
#include "os/process/machine.h"
#include "tools/tune/tune.h"

namespace tasuki::tool {
namespace {

// Of another form of file: its constants mean something else.
constexpr int64_t kFormat = 1;

Status read_constants(const toml::table& table, const std::string& name, message::Costs* costs) {
  for (size_t i = 0; i < message::kCostCount; i++) {
    const auto value = table[message::kCostNames[i]].value<double>();
    if (!value) return Status::error(EINVAL, "it has no number " + name + "." + message::kCostNames[i]);
    message::cost_at(*costs, i) = *value;
  }
  if (!message::plausible(*costs))
    return Status::error(EINVAL, "its constants are not times that a machine can have");
  return {};
}

Status read_lists(const toml::node_view<const toml::node> lists, std::vector<std::string>* read) {
  const toml::array* const array = lists.as_array();
  for (size_t i = 0; array != nullptr && i < array->size(); i++) {
    const auto list = array->at(i).value<std::string>();
    if (!list) return Status::error(EINVAL, "an element of machine.caches or machine.packages is no text");
    read->push_back(*list);
  }
  return {};
}

Result<message::CostTexts> read_costs(const toml::table& table,
                                      const toml::node_view<const toml::node> machine) {
  message::CostTexts texts{};
  if (Status s = read_constants(table, "costs", &texts.at[0]); !s.ok()) return s;
  for (size_t d = 1; d < message::kDistances; d++) {
    texts.at[d] = texts.at[d - 1];
    const std::string name = message::kDistanceNames[d];
    const toml::table* const further = table[name].as_table();
    if (further == nullptr) continue;
    if (Status s = read_constants(*further, "costs." + name, &texts.at[d]); !s.ok()) return s;
  }
  if (Status s = read_lists(machine["caches"], &texts.caches); !s.ok()) return s;
  if (Status s = read_lists(machine["packages"], &texts.packages); !s.ok()) return s;
  message::CostTable understood{};
  if (!message::parse_table(message::format_table(texts), &understood))
    return Status::error(EINVAL,
                         "machine.caches and machine.packages do not say which cores share one, such as "
                         "[\"0-7\", \"8-15\"]");
  return texts;
}

toml::table constants(const message::Costs& costs) {
  toml::table numbers;
  for (size_t i = 0; i < message::kCostCount; i++)
    numbers.insert(message::kCostNames[i], message::cost_at(costs, i));
  return numbers;
}

toml::array texts_of(const std::vector<std::string>& texts) {
  toml::array all;
  for (const std::string& text : texts) all.push_back(text);
  return all;
}

Result<std::vector<std::string>> read_left(const toml::array& array) {
  std::vector<std::string> left;
  for (const toml::node& node : array) {
    const auto rule = node.value<std::string>();
    if (!rule) return Status::error(EINVAL, "an element of `left` is no text");
    message::LeftCollectives understood{};
    if (Status s = message::parse_left(*rule, "mpich", &understood); !s.ok())
      return Status::error(s.err(), "left: " + s.message());
    left.push_back(*rule);
  }
  return left;
}

Result<TuneFile> understand(const toml::table& file) {
  if (file["format"].value<int64_t>() != kFormat)
    return Status::error(EINVAL, "it is not of format " + std::to_string(kFormat));
  const os::MachineDescription here = os::describe_machine();
  const std::string cpu = file["machine"]["cpu"].value_or(std::string());
  const int64_t cores = file["machine"]["cores"].value_or(int64_t{0});
  if (cpu != here.cpu || cores != here.cores)
    return Status::error(EINVAL, "it was measured on another machine (" + std::to_string(cores) +
                                     " cores of " + (cpu.empty() ? "nothing known" : cpu) +
                                     "; this one has " + std::to_string(here.cores) + " of " + here.cpu +
                                     ")");
  TuneFile content;
  const toml::array* const left = file["left"].as_array();
  if (const toml::table* costs = file["costs"].as_table(); costs != nullptr || left == nullptr) {
    Result<message::CostTexts> read = read_costs(costs != nullptr ? *costs : toml::table(), file["machine"]);
    if (!read.ok()) return read.status();
    content.costs = read.value();
  }
  if (left != nullptr) {
    Result<std::vector<std::string>> read = read_left(*left);
    if (!read.ok()) return read.status();
    content.left = std::move(read.value());
  }
  return content;
}

}  // namespace

std::string default_tune_file() {
  const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  if (config != nullptr && *config == '/') return std::string(config) + "/tasuki/tune.toml";
  if (home != nullptr && *home != 0) return std::string(home) + "/.config/tasuki/tune.toml";
  return "";
}

Status prepare_tune_file(const std::string& file) {
  std::error_code ignored;  // the open fails then, and says why
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  return os::can_replace(file);
}

Status write_tune_file(const std::string& file, const TuneFile& content) {
  const os::MachineDescription here = os::describe_machine();
  toml::table machine{{"cpu", here.cpu}, {"cores", here.cores}};
  toml::table all{{"format", kFormat}};
  if (content.costs) {
    const message::CostTexts& costs = *content.costs;
    toml::table numbers = constants(costs.at[0]);
    for (size_t d = 1; d < message::kDistances; d++)
      if (!message::equal(costs.at[d], costs.at[d - 1]))
        numbers.insert(message::kDistanceNames[d], constants(costs.at[d]));
    all.insert("costs", std::move(numbers));
    if (!costs.caches.empty()) machine.insert("caches", texts_of(costs.caches));
    if (!costs.packages.empty()) machine.insert("packages", texts_of(costs.packages));
  }
  all.insert("machine", std::move(machine));
  if (!content.left.empty()) all.insert("left", texts_of(content.left));
  std::ostringstream out;
  out << "# Made by `tasuki tune` on this machine: what moving costs, in nanoseconds, and the collective "
         "operations that are left to the MPI\n# library. See TASUKI_TUNE and TASUKI_LEFT in the manual.\n"
      << all << "\n";
  // At once: a program that starts now reads the old file or the new one.
  return os::replace_file(file, out.str());
}

Result<TuneFile> read_tune_file(const std::string& file) {
  const Result<std::string> text = os::read_file(file);
  if (!text.ok()) return Status::error(text.status().err(), strerror(text.status().err()));
  try {
    return understand(toml::parse(text.value()));
  } catch (const toml::parse_error& e) {
    return Status::error(
        EINVAL, "line " + std::to_string(e.source().begin.line) + ": " + std::string(e.description()));
  }
}

void use_tune_file(bool speaks) {
  const std::string setting = setting_text("TASUKI_TUNE");
  if (setting == "off") return;
  const bool automatic = setting == "auto" || setting.empty();
  const std::string file = automatic ? default_tune_file() : setting;
  std::error_code ignored;
  if (automatic && (file.empty() || !std::filesystem::exists(file, ignored))) return;
  Result<TuneFile> read = read_tune_file(file);
  if (!read.ok()) {
    if (speaks)
      log(LogLevel::warning,
          "%s is not used: %s. The built-in constants choose how messages are moved; `tasuki tune` measures "
          "those of this machine, TASUKI_TUNE=off silences this line",
          file.c_str(), read.status().message().c_str());
    return;
  }
  if (read.value().costs && *setting_text("TASUKI_COSTS") == 0)
    setenv("TASUKI_COSTS", message::format_table(*read.value().costs).c_str(), 1);
  if (read.value().left.empty() || std::string_view(setting_text("TASUKI_LEFT")) != "auto") return;
  std::string rules;
  for (const std::string& rule : read.value().left) rules += (rules.empty() ? "" : ",") + rule;
  setenv("TASUKI_LEFT", rules.c_str(), 1);
}

}  // namespace tasuki::tool
