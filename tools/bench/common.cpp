#include "tools/bench/common.h"

#include <cerrno>
#include <cstdio>
#include <regex>

#include "base/log.h"
#include "bench/driver/benchmarks/sweep.h"
#include "bench/driver/reports/report.h"
#include "bench/plot/page.h"
#include "os/files/output_file.h"
#include "os/files/streams.h"
#include "os/process/command.h"
#include "os/process/executable.h"
#include "tools/command_line.h"

namespace tasuki::tool {
namespace {

struct Known {
  const char* name;
  const char* packages;   // Debian packages of its launcher and of what is needed to build for it
  const char* built_for;  // the launcher at build time, nullptr if it was not there
};
constexpr Known kMpis[] = {
    {"openmpi", "openmpi-bin libopenmpi-dev",
#ifdef TASUKI_MPIRUN_openmpi
     TASUKI_MPIRUN_openmpi
#else
     nullptr
#endif
    },
    {"mpich", "mpich libmpich-dev",
#ifdef TASUKI_MPIRUN_mpich
     TASUKI_MPIRUN_mpich
#else
     nullptr
#endif
    },
};

// On a terminal one line that is rewritten; else a line every ten seconds or so.
class ProgressLine {
 public:
  void operator()(const bench::DdtProgress& p) {
    if (!terminal_ && time(nullptr) - last_ < 10 && p.row != p.rows) return;
    last_ = time(nullptr);
    const double left = p.seconds_left > 0 ? p.seconds_left : 0;
    fprintf(stderr, terminal_ ? "\r\033[K[%d/%d] %s, %.0f s left" : "[%d/%d] %s, %.0f s left\n", p.row,
            p.rows, p.text.c_str(), left);
  }
  ~ProgressLine() {
    if (terminal_) fprintf(stderr, "\r\033[K");
  }

 private:
  const bool terminal_ = os::is_terminal(stderr);
  time_t last_ = time(nullptr);
};

// An executable of that name in PATH, or "".
std::string in_path(const std::string& name) {
  Result<std::string> found = os::find_in_path(name, getenv("PATH"));
  return found.ok() ? found.value() : "";
}

// Which kind of launcher it is: Open MPI 5's calls itself prterun.
std::string kind_of_launcher(const std::string& mpirun) {
  const Result<os::Captured> asked = os::capture({.argv = {mpirun, "--version"}, .errors = os::kAsOutput});
  const std::string version = asked.ok() ? asked.value().output : "";
  const bool open = version.find("Open MPI") != std::string::npos ||
                    version.find("OpenRTE") != std::string::npos ||
                    version.find("prte") != std::string::npos || version.find("PRRTE") != std::string::npos;
  return open ? "openmpi" : "mpich";
}

std::string launcher_of(const Known& mpi) {
  std::string found = in_path(std::string("mpirun.") + mpi.name);
  if (found.empty() && mpi.built_for != nullptr) found = in_path(mpi.built_for);
  // Elsewhere than on Debian all launchers have one name.
  if (const std::string any = in_path("mpirun");
      found.empty() && !any.empty() && kind_of_launcher(any) == mpi.name)
    found = any;
  return found;
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words = CLI::detail::split_up(text);
  std::erase(words, "");
  return words;
}

std::vector<std::string> BenchCommon::runner_words() const {
  return default_runner() ? default_runner_words() : words_of(runner);
}

std::vector<std::string> BenchCommon::default_runner_words() {
  return {os::own_prefix() + "/bin/tasuki", "run"};
}

std::vector<std::string> mpi_names() {
  std::vector<std::string> names;
  for (const Known& m : kMpis) names.push_back(m.name);
  return names;
}

std::string default_mpi() {
  return kMpis[0].built_for == nullptr && kMpis[1].built_for != nullptr ? kMpis[1].name : kMpis[0].name;
}

void add_files(CLI::App* cmd, BenchCommon* c) {
  cmd->add_option("--json", c->json_file, "Write the measurement to this file");
  cmd->add_option("--csv", c->csv_file, "Write the rows to this file, as comma-separated values");
  cmd->add_option("--html", c->html_file, "Write a page of figures to this file");
  cmd->add_option("--launch-args", c->launch_args,
                  "Further arguments for mpirun in all jobs of that library, e.g. '--mca pml ucx'");
}

void add_runner(CLI::App* cmd, BenchCommon* c) {
  c->has_runner = cmd->add_option("--runner", c->runner,
                                  "Start Tasuki's programs with this command instead of 'tasuki run'; '' "
                                  "runs plain MPI twice, which shows the noise of the measurement");
}

void add_common(CLI::App* cmd, BenchCommon* c) {
  c->mpi = default_mpi();
  cmd->add_option("--mpi", c->mpi, "MPI library")->check(CLI::IsMember(mpi_names()))->capture_default_str();
  add_files(cmd, c);
  cmd->add_option("--mpirun", c->mpirun, "Launcher (default: mpirun.openmpi or mpirun.mpich)");
  add_runner(cmd, c);
}

Result<MpiProgram> find_mpi(const std::string& name, const std::string& mpirun, const std::string& program) {
  const Known* mpi = nullptr;
  for (const Known& m : kMpis)
    if (name == m.name) mpi = &m;
  const std::string install = std::string("apt-get install ") + mpi->packages;
  MpiProgram found{{name, name, mpirun.empty() ? launcher_of(*mpi) : in_path(mpirun)},
                   os::own_prefix() + "/libexec/tasuki/" + program + "-" + name};
  if (found.mpi.mpirun.empty())
    return Status::error(ENOENT, (mpirun.empty() ? "mpirun." + name : mpirun) +
                                     " not found; install it with: " + install +
                                     ", or name another with --mpirun");
  if (os::why_not_executable(found.program) != 0)
    return Status::error(ENOENT, found.program + " not found: this tasuki was built without " + name + "; " +
                                     install + " and build again");
  return found;
}

Result<std::string> find_mpicc(const std::string& name, const std::string& mpicc) {
  const std::string wanted = mpicc.empty() ? "mpicc." + name : mpicc, found = in_path(wanted);
  if (!found.empty()) return found;
  for (const Known& m : kMpis)
    if (name == m.name)
      return Status::error(ENOENT, wanted + " not found; install it with: apt-get install " + m.packages +
                                       ", or name another with --mpicc");
  return Status::error(EINVAL, name + ": no such MPI library");
}

std::vector<bench::Peer> other_mpis(const std::string& but, const std::string& program) {
  std::vector<bench::Peer> peers;
  for (const Known& m : kMpis) {
    if (but == m.name) continue;
    Result<MpiProgram> found = find_mpi(m.name, "", program);
    if (found.ok()) peers.push_back({found.value().mpi, found.value().program});
  }
  return peers;
}

Result<bench::Peer> parse_peer(const std::string& text) {
  const size_t equals = text.find('='), comma = text.find(',', equals == std::string::npos ? 0 : equals);
  if (equals == 0 || equals == std::string::npos || comma == std::string::npos)
    return Status::error(EINVAL, "--peer '" + text + "': write NAME=MPIRUN,PROGRAM");
  bench::Peer peer;
  peer.mpi.name = text.substr(0, equals);
  peer.mpi.mpirun = in_path(text.substr(equals + 1, comma - equals - 1));
  peer.program = text.substr(comma + 1);
  if (peer.mpi.mpirun.empty() || os::why_not_executable(peer.program) != 0)
    return Status::error(ENOENT, "--peer '" + text +
                                     "': " + (peer.mpi.mpirun.empty() ? "the launcher" : peer.program) +
                                     " is not an executable file");
  peer.mpi.kind = kind_of_launcher(peer.mpi.mpirun);
  return peer;
}

void add_buffers(CLI::App* cmd, const std::string& prefix, bench::DdtOptions* options) {
  cmd->add_option_function<std::string>(
         "--buffers",
         [options](const std::string& which) {
           options->touched = which != "untouched";
           options->untouched = which != "touched";
         },
         prefix +
             "Which messages: those whose buffers are written before and read after each, as applications "
             "do, those whose buffers nobody touches in between, or both")
      ->check(CLI::IsMember({"both", "touched", "untouched"}))
      ->default_str("both");
}

Status check_pattern(const std::string& pattern) {
  try {
    std::regex check(pattern);
  } catch (const std::regex_error& e) {
    return Status::error(EINVAL, "--pattern '" + pattern + "' is not a regular expression: " + e.what());
  }
  return Status();
}

int fail(const Status& status) {
  log(LogLevel::error, "%s", status.message().c_str());
  return status.err() == EINTR ? 130 : 1;
}

int write_page(const std::vector<nlohmann::json>& measurements, const std::string& file) {
  const Status status = os::write_output("--html", file, bench::page(measurements));
  return status.ok() ? 0 : fail(status);
}

namespace {

const char* what_is_wrong(const nlohmann::json& measured) {
  if (measured["benchmark"] == "coarray-programs" || measured["benchmark"] == "apps")
    return "some programs did not run or gave wrong results: see the rows above that FAILED";
  if (measured["benchmark"] == "space")
    return "some operations did not do what they are for: see the rows above that are not verified";
  for (const nlohmann::json& row : measured.value("rows", nlohmann::json::array()))
    if (!row.value("verified", true) && row.value("finished", true))
      return "data arrived wrong: see the rows above that are not verified";
  return "some runs did not end in time, or not by themselves: see the rows above that are not finished";
}

}  // namespace

Result<nlohmann::json> with_progress(const Measure& measure) {
  ProgressLine line;
  return measure([&line](const bench::DdtProgress& p) { line(p); });
}

int measure_and_report(const BenchCommon& c, const Measure& measure) {
  // Before two minutes have passed, not after.
  for (const auto& [option, file] : {std::pair("--json", &c.json_file), std::pair("--csv", &c.csv_file),
                                     std::pair("--html", &c.html_file)})
    if (Status s = os::check_output(option, *file); !s.ok()) return fail(s);
  Result<nlohmann::json> result = with_progress(measure);
  if (!result.ok()) return fail(result.status());
  nlohmann::json& m = result.value();
  m["settings"]["command"] = command_line();
  fputs(bench::table(m).c_str(), stdout);
  fflush(stdout);
  if (!c.json_file.empty())
    if (Status s = os::write_output("--json", c.json_file, m.dump(1) + "\n"); !s.ok()) return fail(s);
  if (!c.csv_file.empty())
    if (Status s = os::write_output("--csv", c.csv_file, bench::csv(m)); !s.ok()) return fail(s);
  if (!c.html_file.empty())
    if (const int code = write_page({m}, c.html_file); code != 0) return code;
  if (!m["verified"].get<bool>()) {
    log(LogLevel::error, "%s", what_is_wrong(m));
    return 1;
  }
  return 0;
}

}  // namespace tasuki::tool
