// One run of a program: what all its ranks share, and the driver that runs them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "netsim/network/network.h"
#include "simmpi/program/program.h"
#include "simmpi/run/rank.h"
#include "simmpi/run/run_program.h"

namespace tasuki::simmpi {

class Simulation : public netsim::Driver {
 public:
  Simulation(const netsim::Machine& machine, const ProgramOptions& options, std::string path);
  ~Simulation() override;
  Status prepare();  // loads the program; makes nodes and ranks

  void start(netsim::Node& node) override;
  void sent(netsim::Node& node, uint64_t tag) override;
  void delivered(netsim::Node& node, uint32_t from, uint64_t bytes, uint64_t tag) override;
  void timer(netsim::Node& node, uint64_t tag) override;

  // Constant while the network runs.
  const netsim::Machine machine;
  const ProgramOptions options;
  const std::string path;
  std::unique_ptr<Program> program;
  uint64_t most_records = 0;  // of one rank
  uint32_t node_of(uint32_t rank) const { return rank / per_node_; }
  uint32_t per_node() const { return per_node_; }
  Rank& rank(uint32_t number) { return *ranks_[number]; }
  uint32_t rank_count() const { return static_cast<uint32_t>(ranks_.size()); }

  // Something that all wait for has happened: a message has left or come, a rank has ended.
  void progress() { progress_.fetch_add(1, std::memory_order_relaxed); }
  // Set when nothing of the kind has happened for ProgramOptions::patience_s: a rank that is busy then ends
  // the run.
  std::atomic<bool> out_of_patience{false};
  std::string why_busy(const Rank& rank) const;
  uint64_t progress_count() const { return progress_.load(std::memory_order_relaxed); }
  // A line on the real stderr, the first time that it comes.
  void say_once(const std::string& text);

  // After the run.
  bool all_ended() const;
  int exit_code() const;          // of the first rank by number that ended with another one than 0
  std::string who_waits() const;  // of a deadlock
  ProgramLog take_log();

  // Exit code of the rank that failed the run: the first by (time, node), as netsim::Node::fail.
  struct Failure {
    netsim::Time at = UINT64_MAX;
    uint32_t rank = 0;
    int exit_code = 0;
  };
  void note_failure(Rank& rank, int exit_code);
  int failure_code();

 private:
  void run_ready(NodeState& node);

  uint32_t per_node_ = 1;
  std::atomic<uint64_t> progress_{0};
  std::vector<std::unique_ptr<NodeState>> nodes_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::mutex mutex_;  // of failure_, said_
  std::set<std::string> said_;
  Failure failure_;
};

// Runs a task until it suspends. Crashes on it end the simulation (crash.cpp).
void resume(Task* task);

}  // namespace tasuki::simmpi
