// `tasuki doctor [PROGRAM]`: what this machine, its MPI libraries and a program mean for Tasuki, and what to
// change.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "task/space.h"
#include "tools/command.h"
#include "tools/doctor.h"

namespace tasuki::tool {
namespace {

const char* name_of(Verdict v) {
  switch (v) {
    case Verdict::ok:
      return "ok";
    case Verdict::note:
      return "note";
    case Verdict::problem:
      break;
  }
  return "problem";
}

void print_text(const Report& report) {
  size_t width = 0;
  for (const Finding& f : report) width = std::max(width, f.name.size());
  const char* section = "";
  for (const Finding& f : report) {
    if (std::string_view(f.section) != section) {
      printf("%s%s\n", *section != '\0' ? "\n" : "", f.section);
      section = f.section;
    }
    printf("  %-8s %-*s  %s\n", name_of(f.verdict), static_cast<int>(width), f.name.c_str(), f.text.c_str());
    if (!f.remedy.empty()) printf("  %-8s %-*s  -> %s\n", "", static_cast<int>(width), "", f.remedy.c_str());
  }
}

void print_json(const Report& report, bool usable) {
  nlohmann::ordered_json out;
  out["tasuki"] = TASUKI_VERSION;
  out["usable"] = usable;
  out["findings"] = nlohmann::ordered_json::array();
  for (const Finding& f : report)
    out["findings"].push_back({{"section", f.section},
                               {"name", f.name},
                               {"verdict", name_of(f.verdict)},
                               {"text", f.text},
                               {"remedy", f.remedy}});
  // Paths and version strings come from outside: what is not UTF-8 is replaced, not an exception.
  printf("%s\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace

Captured capture(const std::vector<std::string>& argv, int seconds, bool with_stderr) {
  Captured result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return result;
  const pid_t pid = fork();
  if (pid < 0) {
    close(ends[0]);
    close(ends[1]);
    return result;
  }
  if (pid == 0) {
    setpgid(0, 0);  // so that what it starts ends with it
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    dup2(with_stderr ? ends[1] : null, STDERR_FILENO);
    std::vector<char*> args;
    for (const std::string& a : argv) args.push_back(const_cast<char*>(a.c_str()));
    args.push_back(nullptr);
    execvp(args[0], args.data());
    _exit(127);
  }
  setpgid(pid, pid);
  close(ends[1]);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  bool in_time = true;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
            .count();
    pollfd p{ends[0], POLLIN, 0};
    if (left <= 0 || poll(&p, 1, static_cast<int>(left)) <= 0) {
      in_time = false;
      break;
    }
    char buffer[4096];
    const ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n <= 0) break;
    result.output.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  if (!in_time) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (in_time && WIFEXITED(status) && WEXITSTATUS(status) != 127) result.exit_code = WEXITSTATUS(status);
  return result;
}

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string human_bytes(uint64_t bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 5) value /= 1024, unit++;
  char text[32];
  snprintf(text, sizeof text, value < 100 && unit > 0 ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

void add_doctor(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand(
      "doctor",
      "Say what this machine, its MPI libraries and a program mean for Tasuki, and what to change.");
  struct Options {
    std::string program;
    bool json = false;
    bool trial = false;
  };
  auto options = std::make_shared<Options>();
  cmd->add_option("PROGRAM", options->program, "Would its ranks share an address space, and with which MPI?");
  cmd->add_flag("--json", options->json, "The same as JSON");
  cmd->add_flag("--trial", options->trial)->group("");  // what examine_machine starts as a task
  cmd->footer("Exit code: 0 when tasks can share an address space here, 1 when a problem prevents it.");
  cmd->callback([options, exit_code] {
    if (options->trial) {
      // The slot lies in memory that the leader made: reading it is the proof.
      const task::TaskSlot* slot = task::self();
      if (slot != nullptr) printf("shared by %u\n", slot->space->task_count);
      *exit_code = slot != nullptr ? 0 : 1;
      return;
    }
    Report report;
    if (!options->program.empty()) examine_program(options->program, &report);
    examine_mpi(&report);
    examine_machine(&report);
    const bool usable = std::none_of(report.begin(), report.end(),
                                     [](const Finding& f) { return f.verdict == Verdict::problem; });
    if (options->json) {
      print_json(report, usable);
    } else {
      print_text(report);
    }
    *exit_code = usable ? 0 : 1;
  });
}

}  // namespace tasuki::tool
