// `tasuki bench`: measurements with the peers in the same run.
//   bench ddt       typed messages inside the node, plain MPI against Tasuki
//   bench plot      a page from JSON files
//   bench compare   two JSON files, row by row
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <regex>

#include "base/log.h"
#include "bench/driver/ddt.h"
#include "bench/driver/report.h"
#include "bench/plot/page.h"
#include "tools/command.h"

namespace tasuki::tool {
namespace {

struct Mpi {
  const char* name;
  const char* packages;   // Debian packages of its launcher and of what is needed to build for it
  const char* built_for;  // the launcher at build time, nullptr if it was not there
};
constexpr Mpi kMpis[] = {
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

struct DdtCommand {
  bench::DdtOptions options;
  std::string launch_args, runner, json_file, html_file;
  bool has_runner = false;
};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words = CLI::detail::split_up(text);
  std::erase(words, "");
  return words;
}

// An executable of that name in PATH, or "".
std::string find_in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const size_t colon = rest.find(':');
    const std::string file = rest.substr(0, colon) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return "";
}

// Fills in launcher and program; says what is missing and how to get it.
Status find_programs(bench::DdtOptions* o) {
  const Mpi* mpi = nullptr;
  for (const Mpi& m : kMpis)
    if (o->mpi == m.name) mpi = &m;
  const std::string install = std::string("apt-get install ") + mpi->packages;
  const std::string asked = o->mpirun;
  if (!asked.empty()) {
    o->mpirun = find_in_path(asked);
  } else {
    o->mpirun = find_in_path("mpirun." + o->mpi);
    if (o->mpirun.empty() && mpi->built_for != nullptr) o->mpirun = find_in_path(mpi->built_for);
  }
  if (o->mpirun.empty())
    return Status::error(ENOENT, (asked.empty() ? "mpirun." + o->mpi : asked) +
                                     " not found; install it with: " + install +
                                     ", or name another with --mpirun");
  o->program = prefix() + "/libexec/tasuki/ddt-" + o->mpi;
  if (access(o->program.c_str(), X_OK) != 0)
    return Status::error(ENOENT, o->program + " not found: this tasuki was built without " + o->mpi + "; " +
                                     install + " and build again");
  return Status();
}

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
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  time_t last_ = time(nullptr);
};

int fail(const Status& status) {
  log(LogLevel::error, "%s", status.message().c_str());
  return status.err() == EINTR ? 130 : 1;
}

int write_page(const std::vector<nlohmann::json>& measurements, const std::string& file) {
  const Status status = bench::write_text(file, bench::page(measurements));
  return status.ok() ? 0 : fail(status);
}

int run_ddt(DdtCommand* c) {
  bench::DdtOptions& o = c->options;
  try {
    std::regex check(o.pattern);
  } catch (const std::regex_error& e) {
    return fail(
        Status::error(EINVAL, "--pattern '" + o.pattern + "' is not a regular expression: " + e.what()));
  }
  o.launch_args = words_of(c->launch_args);
  o.default_runner = !c->has_runner;
  o.runner = c->has_runner ? words_of(c->runner) : std::vector<std::string>{prefix() + "/bin/tasuki", "run"};
  if (Status s = find_programs(&o); !s.ok()) return fail(s);
  // A file that cannot be written is noticed before two minutes have passed, not after.
  for (const std::string& file : {c->json_file, c->html_file})
    if (!file.empty())
      if (Status s = bench::write_text(file, ""); !s.ok()) return fail(s);

  Result<nlohmann::json> result = Status::error(EINVAL, "");
  {
    ProgressLine line;
    result = bench::run_ddt(o, [&line](const bench::DdtProgress& p) { line(p); });
  }
  if (!result.ok()) return fail(result.status());
  const nlohmann::json& m = result.value();
  fputs(bench::table(m).c_str(), stdout);
  fflush(stdout);
  if (!c->json_file.empty())
    if (Status s = bench::write_text(c->json_file, m.dump(1) + "\n"); !s.ok()) return fail(s);
  if (!c->html_file.empty())
    if (const int code = write_page({m}, c->html_file); code != 0) return code;
  if (!m["verified"].get<bool>()) {
    log(LogLevel::error, "data arrived wrong: see the rows above that are not verified");
    return 1;
  }
  return 0;
}

void add_ddt(CLI::App* bench, int* exit_code) {
  CLI::App* cmd = bench->add_subcommand("ddt",
                                        "Ping-pong of the halo, transpose and index-list patterns of "
                                        "applications: plain MPI and Tasuki, in turns.");
  auto c = std::make_shared<DdtCommand>();
  bench::DdtOptions& o = c->options;
  std::vector<std::string> names;
  for (const Mpi& m : kMpis) names.push_back(m.name);
  o.mpi = kMpis[0].built_for == nullptr && kMpis[1].built_for != nullptr ? kMpis[1].name : kMpis[0].name;
  cmd->add_option("--mpi", o.mpi, "The MPI library")->check(CLI::IsMember(names))->capture_default_str();
  cmd->add_option("--pattern", o.pattern,
                  "Rows whose PATTERN/BYTES this regular expression finds, e.g. 'MG_x|FFT2/1048576'");
  cmd->add_option("--seconds", o.seconds, "Time for all rows together (default: 1.1 a row)")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--iters", o.iterations, "Round trips of each row and job, instead of what the time allows")
      ->check(CLI::PositiveNumber);
  cmd->add_option("--rounds", o.rounds, "Turns of each job in a row")
      ->check(CLI::Range(5, 1000))
      ->capture_default_str();
  cmd->add_flag("--touch", o.touch,
                "Write what is sent before, and read what was received after each message");
  cmd->add_option("--json", c->json_file, "Write the measurement here");
  cmd->add_option("--html", c->html_file, "Write a page of bars here");
  cmd->add_option("--launch-args", c->launch_args,
                  "Further arguments of mpirun, for both jobs, e.g. '--mca pml ucx'");
  cmd->add_option("--mpirun", o.mpirun, "The launcher (default: mpirun.openmpi or mpirun.mpich)");
  CLI::Option* runner = cmd->add_option(
      "--runner", c->runner,
      "What the second job's program is started with instead of 'tasuki run'; '' gives plain MPI twice, "
      "which shows the noise of the measurement");
  cmd->callback([c, runner, exit_code] {
    c->has_runner = runner->count() > 0;
    *exit_code = run_ddt(c.get());
  });
}

void add_plot(CLI::App* bench, int* exit_code) {
  CLI::App* cmd = bench->add_subcommand("plot", "A page of bars from measurements.");
  auto files = std::make_shared<std::vector<std::string>>();
  auto html = std::make_shared<std::string>();
  cmd->add_option("json", *files, "Files of `tasuki bench ddt --json`")->required();
  cmd->add_option("--html", *html, "The page to write")->required();
  cmd->callback([files, html, exit_code] {
    std::vector<nlohmann::json> measurements;
    for (const std::string& file : *files) {
      Result<nlohmann::json> m = bench::read_measurement(file);
      if (!m.ok()) {
        *exit_code = fail(m.status());
        return;
      }
      measurements.push_back(m.value());
    }
    *exit_code = write_page(measurements, *html);
  });
}

void add_compare(CLI::App* bench, int* exit_code) {
  CLI::App* cmd = bench->add_subcommand("compare", "Two measurements, row by row.");
  auto files = std::make_shared<std::pair<std::string, std::string>>();
  cmd->add_option("old", files->first, "JSON file of the earlier run")->required();
  cmd->add_option("new", files->second, "JSON file of the later run")->required();
  cmd->callback([files, exit_code] {
    Result<nlohmann::json> older = bench::read_measurement(files->first);
    Result<nlohmann::json> newer = bench::read_measurement(files->second);
    if (!older.ok() || !newer.ok()) {
      *exit_code = fail(older.ok() ? newer.status() : older.status());
      return;
    }
    fputs(bench::comparison(older.value(), newer.value()).c_str(), stdout);
    *exit_code = 0;
  });
}

}  // namespace

void add_bench(CLI::App& app, int* exit_code) {
  CLI::App* cmd = app.add_subcommand("bench", "Measure, plot and compare.");
  cmd->require_subcommand(1);
  add_ddt(cmd, exit_code);
  add_plot(cmd, exit_code);
  add_compare(cmd, exit_code);
  add_bench_startup(cmd, exit_code);
}

}  // namespace tasuki::tool
