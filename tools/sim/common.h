// What `tasuki sim` and its subcommands share: the options that name a machine and a schedule, and progress
// lines.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "netsim/network/network.h"
#include "report/page.h"

namespace tasuki::tool {

struct SimOptions {
  std::string machine;
  std::vector<std::string> settings;  // KEY=VALUE of the machine
  std::string schedule, bytes = "1MiB", segment = "0", skew = "0 ns", model = "packet";
  uint32_t root = 0, threads = 1;
  uint64_t seed = 1;
  bool barriers = false;
};
void add_machine_options(CLI::App* cmd, SimOptions* o);
void add_schedule_options(CLI::App* cmd, SimOptions* o);

// By path, or by the name of one that comes with Tasuki.
Result<netsim::Machine> find_machine(const SimOptions& o);
std::vector<std::string> shipped_machines();

Result<experiment::ScheduleSpec> schedule_spec(const SimOptions& o);
Result<experiment::RunOptions> run_options(const SimOptions& o);

// "simulated 12.3 ms, 4.1 M events/s", on a terminal.
void show_progress(netsim::Options* options);
void end_progress();
// "17 of 49, about 30 s left"
class PointProgress {
 public:
  explicit PointProgress(size_t count);
  void operator()(size_t finished) const;

 private:
  size_t count_;
  double start_;
};

int sim_error(const Status& status);
// What the user typed: words, and a line to show.
// What a page says of itself: the meaning of "ideal", the command, the version.
report::Facts about_page();

void add_sim_machines(CLI::App* sim, int* exit_code);
void add_sim_sweep(CLI::App* sim, int* exit_code);
void add_sim_traffic(CLI::App* sim, int* exit_code);
void add_sim_tune(CLI::App* sim, int* exit_code);
void add_sim_paper(CLI::App* sim, int* exit_code);
void add_sim_traffic(CLI::App* sim, int* exit_code);

}  // namespace tasuki::tool
