// `tasuki gdb PID`: a debugger that knows the task's program and libraries. By itself it would take the
// symbols of the host's files, which are what the kernel tells about the address space.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/log.h"
#include "os/process/command.h"
#include "task/inspect.h"
#include "tools/command.h"

namespace tasuki::tool {
namespace {

struct GdbOptions {
  int pid = 0;
  bool print = false;
  std::vector<std::string> more;
};

std::vector<std::string> gdb_commands(const task::TaskView& view) {
  std::vector<std::string> commands{"set confirm off"};
  for (const task::LoadedObject& object : view.objects) {
    char offset[32];
    snprintf(offset, sizeof offset, "0x%llx", static_cast<unsigned long long>(object.offset));
    commands.push_back("add-symbol-file \"" + object.file + "\" -o " + offset);
  }
  return commands;
}

int gdb(const GdbOptions& options) {
  Result<task::TaskView> view = task::inspect_task(options.pid);
  if (!view.ok()) {
    log(LogLevel::error, "%s", view.status().message().c_str());
    return 1;
  }
  const std::vector<std::string> commands = gdb_commands(view.value());
  if (options.print) {
    printf("# task %u of %u, rank %d: %s\n", view.value().index, view.value().task_count,
           view.value().launcher_rank, view.value().program.c_str());
    for (const std::string& c : commands) printf("%s\n", c.c_str());
    return 0;
  }
  std::vector<std::string> argv{
      "gdb", "-q", "-iex", "set auto-solib-add off", "-p", std::to_string(options.pid)};
  for (const std::string& c : commands) {
    argv.push_back("-ex");
    argv.push_back(c);
  }
  argv.insert(argv.end(), options.more.begin(), options.more.end());
  os::become(argv);
  log(LogLevel::error, "gdb: %s (apt-get install gdb; or tasuki gdb --print %d for another debugger)",
      strerror(errno), options.pid);
  return 127;
}

}  // namespace

void add_gdb(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand(
      "gdb", "Attach gdb to a task of tasuki run, with the symbols of the task's program and libraries.");
  static GdbOptions options;
  cmd->add_option("pid", options.pid, "Process number (pid) of the task")
      ->required()
      ->check(CLI::PositiveNumber);
  cmd->add_flag("--print", options.print, "Print the commands instead of starting gdb");
  cmd->add_option("more", options.more, "Further arguments for gdb, after --");
  cmd->callback([exit_code] { *exit_code = gdb(options); });
}

}  // namespace tasuki::tool
