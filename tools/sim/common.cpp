#include "tools/sim/common.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "base/bytes.h"
#include "os/clock.h"
#include "os/files/streams.h"
#include "os/process/executable.h"
#include "tools/command.h"
#include "tools/command_line.h"

namespace tasuki::tool {
namespace {

std::string machine_directory() {
  return os::own_prefix() + "/share/tasuki/machines";
}

void progress_line(const netsim::Progress& p, void*) {
  fprintf(stderr, "\r\033[Ksimulated %.3f ms, %.1f s, %.1f M events/s", static_cast<double>(p.now) * 1e-9,
          p.wall_s, static_cast<double>(p.events) / std::max(p.wall_s, 1e-9) / 1e6);
}

}  // namespace

void add_machine_options(CLI::App* cmd, SimOptions* o) {
  cmd->add_option("--machine", o->machine, "Machine file (TOML), or the name of one that comes with Tasuki");
  cmd->add_option("--set", o->settings,
                  "KEY=VALUE replaces a value of the machine file, e.g. router.arbitration=round-robin; may "
                  "be repeated")
      ->allow_extra_args(false);
  cmd->add_option(
         "--model", o->model,
         "packet: follow every packet through every router; flow: let messages share links max-min fairly")
      ->check(CLI::IsMember({"packet", "flow"}))
      ->capture_default_str();
  cmd->add_option("--threads", o->threads, "Number of threads; it does not change the results")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  cmd->add_option("--seed", o->seed, "Seed of the random numbers that routing and --skew use")
      ->capture_default_str();
}

void add_schedule_options(CLI::App* cmd, SimOptions* o) {
  cmd->add_option("--schedule", o->schedule,
                  "Collective schedule that all nodes carry out, e.g. a2at, pairwise, ring");
  cmd->add_option("--bytes", o->bytes,
                  "Size of a block (all-to-all), of the message (broadcast), of a contribution (allreduce)")
      ->capture_default_str();
  cmd->add_option("--segment", o->segment, "Size of a segment in pipelined schedules; 0: send whole messages")
      ->capture_default_str();
  cmd->add_option("--root", o->root, "Root of the broadcast")->capture_default_str();
  cmd->add_flag("--barriers", o->barriers, "Put a dissemination barrier between the rounds of the schedule");
  cmd->add_option("--skew", o->skew, "Let the ranks start at random times within this time, e.g. '3 us'")
      ->capture_default_str();
}

std::vector<std::string> shipped_machines() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(machine_directory(), error))
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

Result<netsim::Machine> find_machine(const SimOptions& o) {
  if (o.machine.empty())
    return Status::error(
        EINVAL, "which machine? --machine FILE; `tasuki sim machines` lists those that come with Tasuki");
  std::string path = o.machine;
  if (!std::filesystem::exists(path) && path.find('/') == std::string::npos)
    for (const char* ending : {"", ".toml"}) {
      const std::string shipped = machine_directory() + "/" + o.machine + ending;
      if (std::filesystem::exists(shipped)) path = shipped;
    }
  return netsim::load_machine(path, o.settings);
}

Result<experiment::ScheduleSpec> schedule_spec(const SimOptions& o) {
  experiment::ScheduleSpec spec;
  spec.algorithm = o.schedule;
  spec.root = o.root;
  spec.barriers = o.barriers;
  if (!parse_bytes(o.bytes, ByteUnits::standard, &spec.bytes))
    return Status::error(EINVAL, "--bytes '" + o.bytes + "': expected a size, for example 1MiB");
  if (!parse_bytes(o.segment, ByteUnits::standard, &spec.segment))
    return Status::error(EINVAL, "--segment '" + o.segment + "': expected a size, for example 64KiB");
  return spec;
}

Result<experiment::RunOptions> run_options(const SimOptions& o) {
  experiment::RunOptions r;
  r.network.threads = o.threads;
  r.network.seed = o.seed;
  r.network.model = o.model == "flow" ? netsim::Model::flow : netsim::Model::packet;
  if (o.skew != "0" && !netsim::parse_time(o.skew, &r.skew))
    return Status::error(EINVAL,
                         "--skew '" + o.skew + "': expected a time with its unit, for example '3 us'");
  return r;
}

void show_progress(netsim::Options* options) {
  if (os::is_terminal(stderr)) options->progress = progress_line;
}

void end_progress() {
  if (os::is_terminal(stderr)) fputs("\r\033[K", stderr);
}

PointProgress::PointProgress(size_t count) : count_(count), start_(os::monotonic_seconds()) {}

void PointProgress::operator()(size_t finished) const {
  if (!os::is_terminal(stderr)) return;
  const double passed = os::monotonic_seconds() - start_;
  fprintf(stderr, "\r\033[K%zu of %zu, about %.0f s left", finished, count_,
          passed / static_cast<double>(finished) * static_cast<double>(count_ - finished));
  if (finished == count_) end_progress();
}

report::Facts about_page() {
  return {"This page",
          {{"Ideal",
            "the longer of two times. In one the links carry the bytes, each class of links sharing its load "
            "evenly "
            "and never pausing; in the other the busiest node moves its own bytes through its NICs. Nothing "
            "on the "
            "machine is faster."},
           {"Command", command_line()},
           {"Version", std::string("Tasuki ") + TASUKI_VERSION}}};
}

int sim_error(const Status& status) {
  end_progress();
  // Not by log(), which cuts lines: who waits for whom is long.
  fprintf(stderr, "tasuki: %s\n", status.message().c_str());
  return 1;
}

}  // namespace tasuki::tool
