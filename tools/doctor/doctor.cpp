// `tasuki doctor [PROGRAM]`: what this machine, its MPI libraries and a program mean for Tasuki, and what to
// change.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "os/process/command.h"
#include "task/space.h"
#include "tools/command.h"
#include "tools/doctor/doctor.h"

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
  const Result<os::Captured> run =
      os::capture({.argv = argv, .input = os::kNull, .errors = with_stderr ? os::kAsOutput : os::kNull},
                  std::chrono::seconds(seconds));
  if (!run.ok()) return {};
  const auto& [output, status, in_time] = run.value();
  // 127: what `env` says of a program that it cannot start.
  const bool ended = in_time && status.signal == 0 && status.code != 127;
  return {.exit_code = ended ? status.code : -1, .output = output};
}

void add_doctor(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand("doctor",
                                     "Say whether Tasuki works with this machine, its MPI libraries and a "
                                     "program, and what to change if it does not.");
  struct Options {
    std::string program;
    bool json = false;
    bool trial = false;
    std::string library;
  };
  auto options = std::make_shared<Options>();
  cmd->add_option("PROGRAM", options->program,
                  "A program: would its ranks share an address space, and which MPI library does it use?");
  cmd->add_flag("--json", options->json, "Print the findings as JSON");
  cmd->add_flag("--trial", options->trial)->group("");        // what examine_machine starts as a task
  cmd->add_option("--library", options->library)->group("");  // what ask_mpi_library starts
  cmd->footer("Exit code: 0 when tasks can share an address space here, 1 when a problem prevents it.");
  cmd->callback([options, exit_code] {
    if (!options->library.empty()) speak_for_mpi_library(options->library);
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
