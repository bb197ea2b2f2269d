#include "tools/command_line.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/log.h"
#include "base/settings.h"
#include "os/files/text_file.h"
#include "os/process/command.h"
#include "os/process/executable.h"
#include "tools/help.h"
#include "tools/words.h"

namespace tasuki::tool {
namespace {

// For who types `tasuki` and nothing else.
constexpr const char* kFirstWords =
    "mpirun -n 8 tasuki run ./app    the ranks of a node in one address space; typed messages copied once\n"
    "tasuki doctor ./app             whether this machine and this program are ready for it\n"
    "tasuki bench ddt                what it gains here, beside plain MPI\n"
    "tasuki mem -n 2 ./app           the memory of several hosts for one program\n"
    "tasuki --help                   all commands; tasuki help COMMAND: one of them\n";

}  // namespace

std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (argc > 1 && words[1] == "help") {
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  return words;
}

std::vector<std::string> own_words() {
  const std::string text = os::file_or_empty("/proc/self/cmdline");
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string command_line() {
  std::string text;
  for (const std::string& word : own_words()) {
    const bool quote = word.find_first_of(" *()'\"") != std::string::npos;
    text += (text.empty() ? "" : " ") + (quote ? "'" + word + "'" : word);
  }
  return text;
}

std::string path_of(const Part& part) {
  return os::own_prefix() + "/libexec/tasuki/" + part.program;
}

const Part* part_of(const std::vector<std::string>& words) {
  // `tasuki --help sim` is the simulator's help, too.
  const auto first = std::find_if(words.begin(), words.end(),
                                  [](const std::string& word) { return word.empty() || word[0] != '-'; });
  if (first == words.end()) return nullptr;
  const auto part =
      std::find_if(std::begin(kParts), std::end(kParts), [&](const Part& p) { return *first == p.command; });
  return part == std::end(kParts) ? nullptr : part;
}

int become_part(const Part& part, const std::vector<std::string>& argv) {
  const std::string path = path_of(part);
  const int code = os::become(argv, {}, path);
  fprintf(stderr,
          "tasuki %s: cannot start %s: %s. The command is a program of its own; install Tasuki again, or "
          "build the target %s\n",
          part.command, path.c_str(), strerror(errno), part.program);
  return code;
}

void add_part(CLI::App& app, const Part& part) {
  app.add_subcommand(part.command, part.about);
}

int carry_out(const std::vector<std::string>& argv, std::span<const AddCommand> commands) {
  if (argv.size() < 2) {
    fputs(kFirstWords, stdout);
    return 2;
  }
  set_log_level(static_cast<LogLevel>(setting_choice("TASUKI_LOG")));
  CLI::App app("Tasuki: the ranks of a node in one address space, typed messages copied once.", "tasuki");
  app.formatter(std::make_shared<HelpFormatter>());  // the subcommands inherit it
  app.set_version_flag("-V,--version", version_text());
  app.require_subcommand(1);
  int exit_code = 0;
  for (const AddCommand add : commands) add(app, &exit_code);
  app.footer("tasuki help COMMAND: what a command does, as tasuki COMMAND --help");  // not the subcommands'
  const std::vector<std::string> words(argv.begin() + 1, argv.end());
  if (!knows_words(app, words)) return 2;
  look_at_settings(words);
  try {
    const std::vector<std::string> marked = mark_end_of_options(app, words);
    std::vector<const char*> arguments{argv[0].c_str()};
    for (const std::string& word : marked) arguments.push_back(word.c_str());
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    if (code != 0) name_slips(app, words);
    return code == 0 ? 0 : 2;
  }
  return exit_code;
}

}  // namespace tasuki::tool
