// tasuki: one command for everything a user does.
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/log.h"
#include "base/settings.h"
#include "tools/command.h"
#include "tools/help.h"
#include "tools/words.h"

namespace tasuki::tool {

std::string prefix() {
  char path[PATH_MAX];
  if (realpath("/proc/self/exe", path) == nullptr) return "..";
  std::string p(path);
  for (int i = 0; i < 2; i++) p.resize(p.rfind('/'));  // .../bin/tasuki -> ...
  return p;
}

}  // namespace tasuki::tool

int main(int argc, char** argv) {
  using namespace tasuki;
  set_log_level(static_cast<LogLevel>(setting_choice("TASUKI_LOG")));
  CLI::App app("Tasuki: the ranks of a node in one address space, typed messages copied once.", "tasuki");
  app.formatter(std::make_shared<tool::HelpFormatter>());  // the subcommands inherit it
  app.set_version_flag("--version", "tasuki " TASUKI_VERSION);
  app.require_subcommand(1);
  int exit_code = 0;
  tool::add_run(app, &exit_code);
  tool::add_check_layout(app, &exit_code);
  tool::add_gdb(app, &exit_code);
  tool::add_settings(app, &exit_code);
  tool::add_doctor(app, &exit_code);
  tool::add_layout(app, &exit_code);
  tool::add_bench(app, &exit_code);
  tool::add_sim(app, &exit_code);
  tool::add_tune(app, &exit_code);
  tool::add_simcc(app, &exit_code);
  tool::add_mem(app, &exit_code);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!tool::knows_words(app, words)) return 2;
  tool::look_at_settings(words);
  try {
    const std::vector<std::string> marked = tool::mark_end_of_options(app, words);
    std::vector<const char*> arguments{argv[0]};
    for (const std::string& word : marked) arguments.push_back(word.c_str());
    app.parse(argc, arguments.data());
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    if (code != 0) tool::name_slips(app, words);
    return code == 0 ? 0 : 2;
  }
  return exit_code;
}
