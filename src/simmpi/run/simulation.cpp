#include "simmpi/run/simulation.h"

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "simmpi/objects/comm.h"
#include "simmpi/objects/mpi_state.h"
#include "simmpi/run/entries.h"
#include "simmpi/run/libc_calls.h"

namespace tasuki::simmpi {

Simulation::Simulation(const netsim::Machine& m, const ProgramOptions& o, std::string p)
    : machine(m), options(o), path(std::move(p)) {}

Simulation::~Simulation() {
  for (auto& node : nodes_)
    for (auto& [tag, packet] : node->outgoing) delete packet;
  for (auto& rank : ranks_)
    if (program != nullptr && !rank->loaded.bases.empty()) program->unload(&rank->loaded);
}

Status Simulation::prepare() {
  const uint32_t nodes = machine.nodes();
  if (options.ranks == 0 || nodes == 0)
    return Status::error(EINVAL, "a program needs at least one rank and one node");
  if (options.ranks > (1u << 20))
    return Status::error(EINVAL, std::to_string(options.ranks) + " ranks: more than 1048576");
  per_node_ = (options.ranks + nodes - 1) / nodes;
  most_records = std::max<uint64_t>(1, options.most_records / options.ranks);
  auto loaded = Program::open(path, our_function);
  if (!loaded.ok()) return loaded.status();
  program = std::move(loaded.value());
  for (uint32_t i = 0; i < nodes; i++) {
    nodes_.push_back(std::make_unique<NodeState>());
    nodes_.back()->id = i;
  }
  for (uint32_t i = 0; i < options.ranks; i++) {
    NodeState& node = *nodes_[node_of(i)];
    ranks_.push_back(std::make_unique<Rank>(*this, node, i));
    node.ranks.push_back(ranks_.back().get());
  }
  return {};
}

void Simulation::start(netsim::Node& network) {
  NodeState& node = *nodes_[network.id()];
  node.network = &network;
  for (Rank* rank : node.ranks) {
    auto copy = program->load();
    if (!copy.ok()) {
      note_failure(*rank, 1);
      network.fail("rank " + std::to_string(rank->number) + ": " + copy.status().message());
      return;
    }
    rank->loaded = std::move(copy.value());
    if (rank->start_task([rank] { run_main(rank); }) == nullptr) return;
  }
  run_ready(node);
}

void Simulation::sent(netsim::Node& network, uint64_t tag) {
  NodeState& node = *nodes_[network.id()];
  node.network = &network;
  progress();
  rank(static_cast<uint32_t>(tag >> 32)).sent(tag);
  run_ready(node);
}

void Simulation::delivered(netsim::Node& network, uint32_t from, uint64_t, uint64_t tag) {
  NodeState& node = *nodes_[network.id()];
  node.network = &network;
  std::unique_ptr<Packet> packet;
  {
    NodeState& sender = *nodes_[from];
    const std::lock_guard lock(sender.mutex);
    const auto i = sender.outgoing.find(tag);
    packet.reset(i->second);
    sender.outgoing.erase(i);
  }
  progress();
  Rank& receiver = rank(packet->to);
  receiver.delivered(std::move(packet));
  run_ready(node);
}

void Simulation::timer(netsim::Node& network, uint64_t tag) {
  NodeState& node = *nodes_[network.id()];
  node.network = &network;
  Rank& r = rank(static_cast<uint32_t>(tag >> 32));
  if (out_of_patience.load(std::memory_order_relaxed)) {
    note_failure(r, 1);
    network.fail("rank " + std::to_string(r.number) + " " + why_busy(r));
    return;
  }
  const auto slot = static_cast<uint32_t>(tag);
  if (slot < r.tasks.size() && r.tasks[slot] != nullptr) r.make_ready(r.tasks[slot].get());
  run_ready(node);
}

void Simulation::run_ready(NodeState& node) {
  while (!node.ready.empty()) {
    Task* task = node.ready.front();
    node.ready.pop_front();
    task->queued = false;
    // A rank that has ended, well or badly, does nothing more.
    if (!task->rank->ended) resume(task);
  }
}

std::string Simulation::why_busy(const Rank& r) const {
  char seconds[32];
  snprintf(seconds, sizeof seconds, "%g", options.patience_s);
  return std::string("is busy ") +
         (r.call.name != nullptr ? std::string("in ") + r.call.name : "outside of MPI") + ", and for " +
         seconds +
         " s no rank has sent, received or ended: an endless loop? (--patience allows more, '0 s' for ever)";
}

void Simulation::say_once(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (said_.insert(text).second) log(LogLevel::warning, "%s", text.c_str());
}

bool Simulation::all_ended() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& r) { return r->ended; });
}

int Simulation::exit_code() const {
  for (const auto& r : ranks_)
    if (r->exit_code != 0) return r->exit_code;
  return 0;
}

void Simulation::note_failure(Rank& rank, int exit_code) {
  const std::lock_guard lock(mutex_);
  const Time now = rank.now();
  if (now > failure_.at || (now == failure_.at && rank.number >= failure_.rank)) return;
  failure_ = {now, rank.number, exit_code};
}

int Simulation::failure_code() {
  const std::lock_guard lock(mutex_);
  return failure_.at == UINT64_MAX ? 1 : std::max(1, failure_.exit_code);
}

std::string Simulation::who_waits() const {
  constexpr uint32_t kMost = 32;
  std::string text;
  uint32_t waiting = 0, ended = 0;
  for (const auto& r : ranks_) {
    if (r->ended) {
      ended++;
      continue;
    }
    if (waiting++ >= kMost) continue;
    text += "\n  rank " + std::to_string(r->number) + ": " +
            (r->call.name != nullptr ? r->call.name : "outside of MPI");
    const Rank::Waiting& w = r->waiting;
    if (r->call.name == nullptr || w.comm == nullptr) continue;
    if (w.relation != nullptr) {
      text += std::string(" ") + w.relation + " ";
      text += w.peer == MPI_ANY_SOURCE ? "any rank" : "rank " + std::to_string(w.peer);
      if (w.comm != r->mpi->world && r->call.peer >= 0)
        text += " (" + std::to_string(r->call.peer) + " of MPI_COMM_WORLD)";
      if (w.tag != MPI_UNDEFINED)
        text += w.tag == MPI_ANY_TAG ? ", any tag" : ", tag " + std::to_string(w.tag);
      text += ",";
    } else {
      text += " on";
    }
    text += " " + (w.comm->name.empty() ? "a communicator of " + std::to_string(w.comm->size()) + " ranks"
                                        : w.comm->name);
  }
  if (waiting > kMost) text += "\n  and " + std::to_string(waiting - kMost) + " more ranks";
  return "deadlock: no message is under way, and " + std::to_string(waiting) + " of " +
         std::to_string(ranks_.size()) + " ranks wait" +
         (ended != 0 ? " (" + std::to_string(ended) + " have ended)" : "") + ":" + text;
}

ProgramLog Simulation::take_log() {
  ProgramLog log;
  for (const auto& r : ranks_)
    for (const Rank::Delivery& d : r->deliveries)
      ranks_[d.from]->log.messages[static_cast<size_t>(d.record)].delivered = d.at;
  for (const auto& r : ranks_) {
    if (r->call.name != nullptr && options.log) r->log.calls.push_back(r->call);
    log.truncated = log.truncated || (options.log && (r->log.call_count > r->log.calls.size() ||
                                                      r->log.message_count > r->log.messages.size()));
    log.ranks.push_back(std::move(r->log));
    log.node_of.push_back(r->node.id);
  }
  return log;
}

}  // namespace tasuki::simmpi
