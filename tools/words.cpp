#include "tools/words.h"

#include <algorithm>
#include <cstdio>

#include "base/nearest.h"
#include "base/unknown_settings.h"
#include "os/process/environment.h"
#include "task/examine/launcher.h"

namespace tasuki::tool {
namespace {

std::vector<std::string> options_of(const CLI::App& cmd) {
  std::vector<std::string> names;
  for (const CLI::Option* o : cmd.get_options()) {
    for (const std::string& name : o->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : o->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// Stands for the first "--" while CLI11 reads: behind a "--" it takes options for its own, and this is a word
// that ends them.
constexpr const char* kEndOfOptions = "\x01";

// "; is --require meant?" or nothing.
std::string meant(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const std::string_view found = nearest(word, views);
  return found.empty() ? "" : "; is " + std::string(found) + " meant?";
}

// `tasuki sim link` as the user wrote it, up to the subcommand that `words` begin with.
const CLI::App* subcommand_of(const CLI::App* cmd, const std::vector<std::string>& words, std::string* name) {
  for (const std::string& word : words) {
    const std::vector<const CLI::App*> named =
        cmd->get_subcommands([&](const CLI::App* s) { return s->check_name(word); });
    if (named.empty()) break;
    cmd = named.front();
    *name += " " + word;
  }
  return cmd;
}

}  // namespace

std::vector<std::string> mark_end_of_options(const CLI::App& app, std::vector<std::string> words) {
  std::string name;
  const auto first = std::find(words.begin(), words.end(), "--");
  if (first != words.end() && subcommand_of(&app, words, &name)->get_prefix_command()) *first = kEndOfOptions;
  return words;
}

std::vector<std::string> words_after_options(const CLI::App& cmd) {
  std::vector<std::string> words = cmd.remaining();
  if (!words.empty() && words.front() == kEndOfOptions) words.erase(words.begin());
  std::replace(words.begin(), words.end(), std::string(kEndOfOptions), std::string("--"));
  return words;
}

bool take_program(const CLI::App& cmd, const char* usage, std::vector<std::string>* command) {
  // A word that is no option of ours ends our options; one with a dash is a slip far more often than a
  // program.
  const std::vector<std::string> rest = cmd.remaining();
  if (!rest.empty() && rest.front().front() == '-') {
    const std::string word = rest.front().substr(0, rest.front().find('='));
    fprintf(stderr,
            "tasuki %s: there is no option %s%s (tasuki %s --help lists them; if it is the name of a "
            "program, put -- before it)\n",
            cmd.get_name().c_str(), word.c_str(), meant(word, options_of(cmd)).c_str(),
            cmd.get_name().c_str());
    return false;
  }
  *command = words_after_options(cmd);
  if (command->empty()) fprintf(stderr, "tasuki %s: which program? (%s)\n", cmd.get_name().c_str(), usage);
  return !command->empty();
}

bool knows_words(const CLI::App& app, const std::vector<std::string>& words) {
  std::string name = "tasuki";
  const CLI::App* cmd = subcommand_of(&app, words, &name);
  const size_t depth = static_cast<size_t>(std::count(name.begin(), name.end(), ' '));
  if (depth >= words.size() || cmd->get_require_subcommand_min() == 0) return true;
  const std::string& word = words[depth];
  if (word.empty() || word.front() == '-') return true;
  std::vector<std::string> known;
  for (const CLI::App* s : cmd->get_subcommands([](const CLI::App*) { return true; }))
    known.push_back(s->get_name());
  fprintf(stderr, "%s: there is no command '%s'%s (%s --help lists them)\n", name.c_str(), word.c_str(),
          meant(word, known).c_str(), name.c_str());
  return false;
}

void name_slips(const CLI::App& app, const std::vector<std::string>& words) {
  std::string name = "tasuki";
  const CLI::App* cmd = subcommand_of(&app, words, &name);
  const std::vector<std::string> known = options_of(*cmd);
  for (const std::string& w : words) {
    if (w == "--") return;
    const std::string word = w.substr(0, w.find('='));
    if (word.size() < 2 || word.front() != '-' || std::find(known.begin(), known.end(), word) != known.end())
      continue;
    if (const std::string hint = meant(word, known); !hint.empty())
      fprintf(stderr, "%s: there is no option %s%s\n", name.c_str(), word.c_str(), hint.c_str());
  }
}

void look_at_settings(const std::vector<std::string>& words) {
  if (words.size() > 1 && words[1] == kBehindWrapper) return;
  // Every rank has the same environment.
  const task::Job job = task::read_job(os::environment_of_self());
  if (job.launcher == nullptr || job.world_rank == 0) warn_of_unknown_settings(os::environment_block());
}

}  // namespace tasuki::tool
