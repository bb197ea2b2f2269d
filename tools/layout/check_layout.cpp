// `tasuki check-layout`: the test for stray writes across tasks. A write to a wrong address hits whatever is
// there; in a shared address space that may be another task's data. The program is run several times with
// every task loaded at another place; a program without such a write behaves the same each time. (Shimada et
// al., PVAS, section on memory protection: compare runs with tasks at random places.)

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/log.h"
#include "os/process/command.h"
#include "os/process/environment.h"
#include "os/process/executable.h"
#include "task/examine/launcher.h"
#include "tools/command.h"

namespace tasuki::tool {
namespace {

struct CheckOptions {
  int tasks = 2;
  int runs = 8;
  uint64_t first_seed = 1;
  std::string launcher;
  std::vector<std::string> command;
};

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> list;
  for (std::string w; in >> w;) list.push_back(w);
  return list;
}

// Lines of different ranks come in any order.
std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string l; std::getline(in, l);) lines.push_back(l);
  std::sort(lines.begin(), lines.end());
  return lines;
}

int check(const CheckOptions& options) {
  std::vector<std::string> command = words(options.launcher);
  command.push_back(os::own_prefix() + "/bin/tasuki");
  command.push_back("run");
  if (options.launcher.empty()) {
    command.push_back("-n");
    command.push_back(std::to_string(options.tasks));
  }
  command.insert(command.end(), options.command.begin(), options.command.end());

  std::vector<std::string> environment = os::environment_of_self();
  os::set_variable(&environment, "TASUKI_REQUIRE", "on");

  os::ExitStatus first_status;
  int different = 0;
  std::vector<std::string> first;
  for (int i = 0; i < options.runs; i++) {
    // The first run has the usual placement: one task's memory right behind the other's.
    const std::string seed = i == 0 ? "0" : std::to_string(options.first_seed + static_cast<uint64_t>(i) - 1);
    os::set_variable(&environment, "TASUKI_LAYOUT_SEED", seed);
    const Result<os::Captured> ran = os::capture({.argv = command,
                                                  .environment = environment,
                                                  .input = os::kNull,
                                                  .errors = os::kAsOutput,
                                                  .default_signals = true});
    if (!ran.ok()) {
      log(LogLevel::error, "%s", ran.status().message().c_str());
      return 1;
    }
    const os::Captured& run = ran.value();
    std::vector<std::string> lines = sorted_lines(run.output);
    printf("%-6s %-8s %s, %zu lines\n", i == 0 ? "usual" : "seed", i == 0 ? "" : seed.c_str(),
           run.status.text().c_str(), lines.size());
    if (i == 0) {
      first_status = run.status;
      first = std::move(lines);
      continue;
    }
    if (run.status == first_status && lines == first) continue;
    different++;
    std::vector<std::string> gone, fresh;
    std::set_difference(first.begin(), first.end(), lines.begin(), lines.end(), std::back_inserter(gone));
    std::set_difference(lines.begin(), lines.end(), first.begin(), first.end(), std::back_inserter(fresh));
    for (size_t n = 0; n < std::min<size_t>(gone.size(), 3); n++) printf("  - %s\n", gone[n].c_str());
    for (size_t n = 0; n < std::min<size_t>(fresh.size(), 3); n++) printf("  + %s\n", fresh[n].c_str());
  }
  if (different > 0) {
    printf(
        "%d of %d runs differ from the first: the program's behaviour depends on where its tasks are "
        "loaded.\n"
        "Either a task writes to (or reads from) a wrong address, or the output differs from run to run "
        "anyway\n"
        "(times, process numbers, addresses): compare two plain runs.\n",
        different, options.runs - 1);
    return 1;
  }
  if (!first_status.ok()) {
    printf("All runs end alike, with %s.\n", first_status.text().c_str());
    return 1;
  }
  printf("All %d runs end alike: no stray write seen.\n", options.runs);
  return 0;
}

}  // namespace

void add_check_layout(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand("check-layout",
                                     "Run a program several times with its tasks loaded at different "
                                     "addresses, and compare the output: this finds stray writes.");
  static CheckOptions options;
  cmd->add_option("-n", options.tasks, "Number of tasks")->check(CLI::Range(1, kMostTasks));
  cmd->add_option("--runs", options.runs, "Number of runs, the one at the usual addresses included")
      ->check(CLI::Range(2, 1000000));
  cmd->add_option("--first-seed", options.first_seed,
                  "Seed of the first run at random addresses; later runs use the following numbers")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--launcher", options.launcher,
                  "Start the ranks with this command instead of -n, e.g. \"mpirun -n 4\"");
  cmd->prefix_command();
  cmd->callback([cmd, exit_code] {
    if (!take_program(*cmd, "tasuki check-layout -n N PROGRAM [arguments]", &options.command)) {
      *exit_code = 2;
      return;
    }
    *exit_code = check(options);
  });
}

}  // namespace tasuki::tool
