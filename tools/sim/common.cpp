#include "tools/sim/common.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tools/command.h"

namespace tasuki::tool {
namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string machine_directory() {
  return prefix() + "/share/tasuki/machines";
}

void progress_line(const netsim::Progress& p, void*) {
  fprintf(stderr, "\r\033[Ksimulated %.3f ms, %.1f s, %.1f M events/s", static_cast<double>(p.now) * 1e-9,
          p.wall_s, static_cast<double>(p.events) / std::max(p.wall_s, 1e-9) / 1e6);
}

}  // namespace

void add_machine_options(CLI::App* cmd, SimOptions* o) {
  cmd->add_option("--machine", o->machine, "Machine file (TOML), or the name of one that comes with Tasuki");
  cmd->add_option(
         "--set", o->settings,
         "KEY=VALUE in place of the machine file's, e.g. router.arbitration=round-robin; may be repeated")
      ->allow_extra_args(false);
  cmd->add_option("--model", o->model,
                  "packet: every packet in every router; flow: messages share links max-min fairly")
      ->check(CLI::IsMember({"packet", "flow"}))
      ->capture_default_str();
  cmd->add_option("--threads", o->threads, "Threads; the results are the same on any number")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  cmd->add_option("--seed", o->seed, "Of random numbers: routing that uses them, start skew")
      ->capture_default_str();
}

void add_schedule_options(CLI::App* cmd, SimOptions* o) {
  cmd->add_option("--schedule", o->schedule, "Collective schedule on all nodes, e.g. a2at, pairwise, ring");
  cmd->add_option("--bytes", o->bytes,
                  "Of a block (all-to-all), a message (broadcast), a contribution (allreduce)")
      ->capture_default_str();
  cmd->add_option("--segment", o->segment, "Bytes of a segment of pipelined schedules; 0: whole messages")
      ->capture_default_str();
  cmd->add_option("--root", o->root, "Root of a broadcast")->capture_default_str();
  cmd->add_flag("--barriers", o->barriers, "A dissemination barrier between the schedule's rounds");
  cmd->add_option("--skew", o->skew, "Ranks start at times spread over this, e.g. '3 us'")
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

Result<simmpi::ScheduleSpec> schedule_spec(const SimOptions& o) {
  simmpi::ScheduleSpec spec;
  spec.algorithm = o.schedule;
  spec.root = o.root;
  spec.barriers = o.barriers;
  if (!netsim::parse_bytes(o.bytes, &spec.bytes))
    return Status::error(EINVAL, "--bytes '" + o.bytes + "': expected a size, for example 1MiB");
  if (!netsim::parse_bytes(o.segment, &spec.segment))
    return Status::error(EINVAL, "--segment '" + o.segment + "': expected a size, for example 64KiB");
  return spec;
}

Result<simmpi::RunOptions> run_options(const SimOptions& o) {
  simmpi::RunOptions r;
  r.network.threads = o.threads;
  r.network.seed = o.seed;
  r.network.model = o.model == "flow" ? netsim::Model::flow : netsim::Model::packet;
  if (o.skew != "0" && !netsim::parse_time(o.skew, &r.skew))
    return Status::error(EINVAL,
                         "--skew '" + o.skew + "': expected a time with its unit, for example '3 us'");
  return r;
}

void show_progress(netsim::Options* options) {
  if (isatty(STDERR_FILENO) != 0) options->progress = progress_line;
}

void end_progress() {
  if (isatty(STDERR_FILENO) != 0) fputs("\r\033[K", stderr);
}

PointProgress::PointProgress(size_t count) : count_(count), start_(seconds()) {}

void PointProgress::operator()(size_t finished) const {
  if (isatty(STDERR_FILENO) == 0) return;
  const double passed = seconds() - start_;
  fprintf(stderr, "\r\033[K%zu of %zu, about %.0f s left", finished, count_,
          passed / static_cast<double>(finished) * static_cast<double>(count_ - finished));
  if (finished == count_) end_progress();
}

std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::string command_line() {
  std::string text;
  for (const std::string& word : own_words()) {
    const bool quote = word.find_first_of(" *()'\"") != std::string::npos;
    text += (text.empty() ? "" : " ") + (quote ? "'" + word + "'" : word);
  }
  return text;
}

int sim_error(const Status& status) {
  end_progress();
  // Not by log(), which cuts lines: who waits for whom is long.
  fprintf(stderr, "tasuki: %s\n", status.message().c_str());
  return 1;
}

}  // namespace tasuki::tool
