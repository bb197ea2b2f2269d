// `tasuki run`: the ranks of a node in one address space.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/settings.h"
#include "os/memory/keys.h"
#include "os/process/command.h"
#include "os/process/environment.h"
#include "os/process/executable.h"
#include "os/process/process.h"
#include "os/process/self.h"
#include "task/examine/launcher.h"
#include "task/examine/preload.h"
#include "task/examine/program.h"
#include "task/examine/wrapper.h"
#include "task/meet/host.h"
#include "task/meet/proxy.h"
#include "task/segment.h"
#include "tools/command.h"
#include "tools/tune/tune.h"
#include "tools/words.h"

namespace tasuki::tool {
namespace {

struct RunOptions {
  int tasks = 0;  // 0: as the launcher says
  bool require = false;
  uint64_t layout_seed = 0;
  bool guard = false;
  std::vector<std::string> command;
  os::LimitValues descriptors = {};  // as this command was started
};

// The program as a plain process. Returns only if that fails.
int exec_plainly(const task::Job& job, const std::vector<std::string>& command,
                 const std::vector<std::string>& environment) {
  os::become(command, environment);
  return exec_failure(job.launcher, command[0], errno);
}

// The command as it would run without Tasuki; without a launcher, as many of them as were asked for.
int run_plain(const task::Job& job, const RunOptions& options, const std::vector<std::string>& environment) {
  os::set_limit(os::Limit::descriptors, options.descriptors);
  if (options.tasks <= 1) return exec_plainly(job, options.command, environment);
  Result<int> status = task::plain_here(options.command[0], options.tasks, [&] {
    std::vector<std::string> numbered = environment;
    for (const char* name : {"TASUKI_RANK", "TASUKI_SIZE"}) os::set_variable(&numbered, name, getenv(name));
    std::_Exit(exec_plainly(job, options.command, numbered));
  });
  if (!status.ok()) {
    log(LogLevel::error, "cannot start: %s", status.status().message().c_str());
    return 1;
  }
  os::end_like(status.value());
}

// A shared AddressSanitizer that is not the first library refuses to run. It need not be before the shim,
// which has none of the functions that it replaces. What the user says goes.
void allow_preload(std::vector<std::string>* environment) {
  const char* users = os::variable(*environment, "ASAN_OPTIONS");
  const std::string value = "verify_asan_link_order=0" + (users != nullptr ? ":" + std::string(users) : "");
  os::set_variable(environment, "ASAN_OPTIONS", value);
}

// The program as a process of its own. It still takes part in its MPI job, whose other ranks talk to its
// shim.
int run_apart(const task::Job& job, const task::Program& program, const RunOptions& options,
              os::Fd segment = {}) {
  std::vector<std::string> environment = os::environment_of_self();
  if (task::can_take_shim(program)) {
    const MpiAbi abi = task::decide_abi(task::mpi_abi_of(program.image.needed), job.abi,
                                        program.image.interpreter, program.path, environment);
    const std::string problem = task::add_preload(&environment, os::own_prefix() + "/lib/tasuki", abi, false);
    if (!problem.empty()) log(LogLevel::warning, "%s", problem.c_str());
    if (program.image.address_sanitizer) allow_preload(&environment);
    if (segment.valid())
      os::set_variable(&environment, task::kSeatVariable,
                       task::name_segment(segment, static_cast<uint32_t>(job.local_rank)));
  }
  return run_plain(job, options, environment);
}

// Says why it does not share the address space. `speaks`: no other rank says the same.
int fall_back(const task::Job& job, const task::Program& program, const RunOptions& options,
              const std::string& why, bool speaks = true, os::Fd segment = {}) {
  const bool require = options.require || sharing_required();
  // The program would not take it.
  if (!task::can_take_shim(program) || !task::has_room_for_segment()) segment.reset();
  if (speaks || require)
    log(require ? LogLevel::error : LogLevel::warning, "%s %s%s: %s", options.command[0].c_str(), why.c_str(),
        program.remedy.empty() ? "" : (" (" + program.remedy + ")").c_str(),
        require           ? "it cannot share the address space (--require)"
        : segment.valid() ? "it runs as a process of its own, and its messages on this node take another way"
                          : "it runs as a process of its own");
  if (require) return 1;
  return run_apart(job, program, options, std::move(segment));
}

// Limits that the kernel counts per address space: one process's share cannot be told from the others'.
std::string limit_per_space() {
  for (const auto& [limit, name] :
       {std::pair(os::Limit::address_space, "-v"), std::pair(os::Limit::data, "-d")}) {
    if (os::limit_of_self(limit).soft != os::kUnlimited)
      return std::string("has limited memory (ulimit ") + name +
             "), which the kernel would count for all tasks together" + " (ulimit " + name +
             " unlimited shares)";
  }
  return {};
}

// `tasuki run taskset -c 0 ./app` becomes `taskset -c 0 tasuki run ./app`. Returns only if that fails.
int run_behind_wrapper(const task::Job& job, const RunOptions& options, size_t program,
                       const std::vector<std::string>& environment) {
  const auto begin = options.command.begin() + static_cast<std::ptrdiff_t>(program);
  std::vector<std::string> command(options.command.begin(), begin);
  command.insert(command.end(), {os::own_prefix() + "/bin/tasuki", "run", kBehindWrapper});
  if (options.tasks > 0) command.insert(command.end(), {"-n", std::to_string(options.tasks)});
  if (options.require) command.emplace_back("--require");
  if (options.layout_seed != 0)
    command.insert(command.end(), {"--layout-seed", std::to_string(options.layout_seed)});
  if (options.guard) command.emplace_back("--guard");
  command.emplace_back("--");
  command.insert(command.end(), begin, options.command.end());
  return exec_plainly(job, command, environment);
}

int run(const RunOptions& options) {
  // What a program executes knows it too, and is no task.
  if (options.require) setenv("TASUKI_REQUIRE", "on", 1);
  const std::vector<std::string> environment = os::environment_of_self();
  const task::Job job = options.tasks > 0 ? task::Job() : task::read_job(environment);
  if (!setting_flag("TASUKI")) return run_plain(job, options, environment);
  const bool apart = !setting_flag("TASUKI_SPACE");
  if (apart && (options.require || sharing_required())) {
    log(LogLevel::error, "TASUKI_SPACE=off keeps the ranks' memory apart, and %s requires that they share it",
        options.require ? "--require" : "TASUKI_REQUIRE or TASUKI_EVERYWHERE");
    return 1;
  }
  if (const size_t program = task::behind_wrapper(options.command); program != 0)
    return run_behind_wrapper(job, options, program, environment);
  use_tune_file(job.local_rank == 0);

  task::Program program = task::find_program(options.command, getenv("PATH"));
  if (program.can_share()) program.why_plain = limit_per_space();
  // Without its libraries a task could map over another's memory.
  if (program.can_share() && !task::preload_can_name(os::own_prefix()))
    program.why_plain =
        "cannot get Tasuki's libraries (LD_PRELOAD cannot name a directory with a blank or a "
        "colon, and Tasuki is in " +
        os::own_prefix() + ")";
  task::HostOptions host;
  host.library_dir = os::own_prefix() + "/lib/tasuki";
  host.join_timeout_ms = static_cast<int>(setting_count("TASUKI_JOIN_TIMEOUT")) * 1000;
  host.layout_seed = options.layout_seed != 0 ? options.layout_seed : setting_count("TASUKI_LAYOUT_SEED");
  host.guarded = options.guard || setting_flag("TASUKI_GUARD");
  if (program.error != 0 || !program.can_share() || apart) {
    task::Away away;
    if (job.launcher != nullptr) away = task::stay_away(job, program.path + program.why_plain, host);
    if (program.error != 0) return exec_failure(job.launcher, options.command[0], program.error);
    if (program.can_share()) return run_apart(job, program, options, std::move(away.segment));
    return fall_back(job, program, options, program.why_plain, away.first, std::move(away.segment));
  }
  if (host.guarded && !os::have_keys()) {
    if (job.launcher == nullptr || job.local_rank == 0)
      log(LogLevel::error,
          "--guard needs memory protection keys, which this processor or its kernel does not have "
          "(no \"ospke\" in /proc/cpuinfo; `tasuki doctor` says so, too)");
    return 1;
  }
  host.mappings_per_task =
      static_cast<size_t>(std::max<int64_t>(setting_count_or_auto("TASUKI_MAPPINGS"), 0));
  if (job.launcher != nullptr) {
    Result<task::TaskRequest> request = task::capture_request(program, job, os::environment_block());
    Status status =
        request.ok() ? task::run_as_proxy(job, std::move(request.value()), host) : request.status();
    return fall_back(job, program, options, status.message());
  }
  Result<task::TaskRequest> request = task::capture_request(program, job, os::environment_block());
  if (!request.ok()) return fall_back(job, program, options, request.status().message());
  Result<int> status =
      task::host_here(std::move(request.value()), options.tasks > 0 ? options.tasks : 1, host);
  if (!status.ok()) {
    log(LogLevel::error, "cannot start: %s", status.status().message().c_str());
    return 1;
  }
  os::end_like(status.value());
}

}  // namespace

int exec_failure(const char* launcher, const std::string& name, int error) {
  fprintf(stderr, "tasuki: execvp error on file %s (%s)\n", name.c_str(), strerror(error));
  if (launcher != nullptr && strcmp(launcher, "hydra") == 0) return 255;
  return os::exit_code_of(error);
}

void add_run(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand(
      "run",
      "Run the ranks of a program in one address space on each node: mpirun -n 4 tasuki run ./app args...");
  static RunOptions options;
  cmd->add_option("-n", options.tasks,
                  "Without an MPI launcher: start so many tasks (TASUKI_RANK tells each task its number)")
      ->check(CLI::Range(1, kMostTasks));
  cmd->add_flag("--require", options.require,
                "Treat a program that cannot share the address space as an error");
  cmd->add_option("--layout-seed", options.layout_seed,
                  "Load the tasks at random addresses derived from this number (see tasuki check-layout)");
  cmd->add_flag("--guard", options.guard,
                "End a task that writes to memory of another task, and say who wrote where (needs memory "
                "protection keys)");
  cmd->add_flag(kBehindWrapper)->group("");  // what run_behind_wrapper starts
  cmd->prefix_command();
  cmd->callback([cmd, exit_code] {
    if (!take_program(*cmd, "tasuki run [options] PROGRAM [arguments]", &options.command)) {
      *exit_code = 2;
      return;
    }
    options.descriptors = os::limit_of_self(os::Limit::descriptors);
    *exit_code = run(options);
  });
}

}  // namespace tasuki::tool
