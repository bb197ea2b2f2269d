// `tasuki bench startup`: what a task costs: time to start and end, and memory, beside plain processes of the
// same program started in the same run. The JSON's rows are the table's.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <thread>

#include "base/log.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/jobs/machine.h"
#include "os/clock.h"
#include "os/files/output_file.h"
#include "os/process/command.h"
#include "os/process/executable.h"
#include "os/process/process.h"
#include "tools/bench/common.h"

namespace tasuki::tool {
namespace {

struct StartupOptions {
  std::vector<int> counts{1, 8, 64, 240};
  int rounds = 7;
  std::string json;
};

std::vector<std::string> tasuki_command(int count, const std::vector<std::string>& program) {
  std::vector<std::string> command{os::own_prefix() + "/bin/tasuki", "run", "-n", std::to_string(count)};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

bool ends_well(Result<os::Child> program) {
  return program.ok() && program.value().wait().ok();
}

// Milliseconds from the first start to the last end; negative if something failed.
double time_plain(int count, const std::vector<std::string>& program) {
  const int64_t begin = os::monotonic_ns();
  std::vector<Result<os::Child>> started;
  bool ok = true;
  for (int i = 0; i < count; i++) started.push_back(os::start({.argv = program}));
  for (Result<os::Child>& child : started) ok &= ends_well(std::move(child));
  return ok ? static_cast<double>(os::monotonic_ns() - begin) * 1e-6 : -1;
}

double time_tasks(int count, const std::vector<std::string>& program) {
  const int64_t begin = os::monotonic_ns();
  const bool ok = ends_well(os::start({.argv = tasuki_command(count, program)}));
  return ok ? static_cast<double>(os::monotonic_ns() - begin) * 1e-6 : -1;
}

// Sum of the lines of a file of /proc whose names begin with `key`, in KiB.
long kib_of(pid_t pid, const char* file, const std::string& key) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/" + file);
  long sum = 0;
  for (std::string line; std::getline(in, line);)
    if (line.compare(0, key.size(), key) == 0) sum += strtol(line.c_str() + line.find(':') + 1, nullptr, 10);
  return sum;
}

struct Memory {
  double private_kib = 0, page_table_kib = 0;
};

Memory memory_of(pid_t pid) {
  return {static_cast<double>(kib_of(pid, "smaps_rollup", "Private")),
          static_cast<double>(kib_of(pid, "status", "VmPTE"))};
}

int children_of(pid_t parent) {
  int n = 0;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    const int pid = atoi(entry.path().filename().c_str());
    if (pid > 0 && os::parent_of(pid) == parent) n++;
  }
  return n;
}

// Of `count` waiting processes, each one's part. The host's own memory counts as the tasks'.
bool measure_memory(int count, Memory* task, Memory* plain) {
  const std::vector<std::string> sleeper{"sleep", "60"};
  Result<os::Child> single = os::start({.argv = sleeper});
  setenv("TASUKI_LOG", "error", 1);  // that the sleepers are killed in the end is no news
  Result<os::Child> space = os::start({.argv = tasuki_command(count, sleeper)});
  const os::Deadline deadline(20'000);
  const bool started = single.ok() && space.ok();
  // All of them, and asleep: on a busy machine one may only be about to replace itself by the program, and
  // has no memory to speak of for a moment.
  bool complete = false;
  while (started && !complete && !deadline.over()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200 + count));
    if (children_of(space.value().pid()) != count) continue;
    *plain = memory_of(single.value().pid());
    *task = memory_of(space.value().pid());
    complete = plain->private_kib > 0 && task->private_kib > 0;
  }
  task->private_kib /= count;
  task->page_table_kib /= count;
  for (Result<os::Child>* child : {&single, &space})
    if (child->ok()) child->value().end(std::chrono::seconds(60));
  return complete;
}

int measure(const StartupOptions& options) {
  if (Status s = os::check_output("--json", options.json); !s.ok()) return fail(s);
  const std::vector<std::string> program{"true"};
  nlohmann::json rows = nlohmann::json::array();
  printf("%6s  %20s  %20s  %22s  %22s\n", "tasks", "ms a task (spread)", "ms a plain process",
         "KiB private, of tables", "plain process");
  for (const int count : options.counts) {
    std::vector<double> tasks, plain;
    for (int i = 0; i < options.rounds; i++) {  // interleaved: both see the same disturbances
      plain.push_back(time_plain(count, program) / count);
      tasks.push_back(time_tasks(count, program) / count);
    }
    Memory task_memory, plain_memory;
    if (*std::min_element(tasks.begin(), tasks.end()) < 0 ||
        *std::min_element(plain.begin(), plain.end()) < 0 ||
        !measure_memory(count, &task_memory, &plain_memory)) {
      log(LogLevel::error, "bench startup: some of the %d tasks did not run", count);
      return 1;
    }
    const auto [low, high] = std::minmax_element(tasks.begin(), tasks.end());
    printf("%6d  %6.2f (%.2f-%.2f)%*s  %20.2f  %12.0f %9.0f  %12.0f %9.0f\n", count, bench::median(tasks),
           *low, *high, 2, "", bench::median(plain), task_memory.private_kib, task_memory.page_table_kib,
           plain_memory.private_kib, plain_memory.page_table_kib);
    rows.push_back({{"tasks", count},
                    {"task_ms", bench::median(tasks)},
                    {"task_ms_min", *low},
                    {"task_ms_max", *high},
                    {"plain_ms", bench::median(plain)},
                    {"task_private_kib", task_memory.private_kib},
                    {"task_page_table_kib", task_memory.page_table_kib},
                    {"plain_private_kib", plain_memory.private_kib},
                    {"plain_page_table_kib", plain_memory.page_table_kib}});
  }
  if (options.json.empty()) return 0;
  const nlohmann::json all = {{"machine", bench::describe_machine()},
                              {"versions", {{"tasuki", TASUKI_VERSION}}},
                              {"program", program[0]},
                              {"rounds", options.rounds},
                              {"rows", rows}};
  const Status written = os::write_output("--json", options.json, all.dump(2) + "\n");
  return written.ok() ? 0 : fail(written);
}

}  // namespace

void add_bench_startup(CLI::App* bench, int* exit_code) {
  CLI::App* cmd =
      bench->add_subcommand("startup", "What a task costs in time and memory, beside a plain process.");
  static StartupOptions options;
  cmd->add_option("--tasks", options.counts, "Numbers of tasks")->delimiter(',')->check(CLI::Range(1, 4096));
  cmd->add_option("--rounds", options.rounds, "How often each number is measured")
      ->check(CLI::Range(1, 1000));
  cmd->add_option("--json", options.json, "Write the rows to this file");
  cmd->callback([exit_code] { *exit_code = measure(options); });
}

}  // namespace tasuki::tool
