#include "experiment/schedule_run.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string>

#include "experiment/memory_check.h"
#include "netsim/simulate.h"

namespace tasuki::experiment {
namespace {

using netsim::Machine;
using netsim::Message;
using netsim::Node;
using netsim::Time;
using schedule::Action;
using schedule::Step;

// Least and most over all ranks: the same whatever the order.
struct Span {
  std::atomic<Time> first{UINT64_MAX}, last{0};
  void add(Time t) {
    Time seen = first.load(std::memory_order_relaxed);
    while (t < seen && !first.compare_exchange_weak(seen, t, std::memory_order_relaxed)) {
    }
    seen = last.load(std::memory_order_relaxed);
    while (t > seen && !last.compare_exchange_weak(seen, t, std::memory_order_relaxed)) {
    }
  }
};

// What a message's tag says: its kind, its lane and, of what the sender does, which step of the round.
enum class Kind : uint8_t { data, request, grant, granted_data };
constexpr uint64_t make_tag(Kind kind, uint32_t lane, uint32_t step) {
  return uint64_t{static_cast<uint8_t>(kind)} << 62 | uint64_t{lane} << 32 | step;
}
constexpr Kind kind_of(uint64_t tag) {
  return static_cast<Kind>(tag >> 62);
}
constexpr uint32_t lane_of(uint64_t tag) {
  return static_cast<uint32_t>(tag >> 32 & 0x3fffffff);
}
constexpr uint32_t step_of(uint64_t tag) {
  return static_cast<uint32_t>(tag);
}

class ScheduleDriver final : public netsim::Driver {
 public:
  ScheduleDriver(const Machine& machine, const schedule::Schedule& schedule, const RunOptions& options)
      : machine_(machine),
        schedule_(schedule),
        options_(options),
        ranks_(schedule.ranks()),
        begins_(schedule.sequences()),
        ends_(schedule.sequences()) {
    for (Rank& r : ranks_) r.lanes.resize(schedule.lanes());
  }

  bool any_thread() const override { return true; }
  void start(Node& node) override {
    if (node.id() >= ranks_.size()) return;
    uint64_t x = options_.network.seed * 0x9e3779b97f4a7c15u + node.id() * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
    x ^= x >> 32;
    const Time at = options_.skew == 0 ? 0 : x % (options_.skew + 1);
    started_.add(at);
    for (uint32_t lane = 0; lane < schedule_.lanes(); lane++)
      node.set_timer(at, timer_tag(Timer::round, lane, 0));
  }

  void sent(Node& node, uint64_t tag) override {
    if (kind_of(tag) == Kind::data || kind_of(tag) == Kind::granted_data) step_done(node, lane_of(tag));
  }

  void delivered(Node& node, uint32_t from, uint64_t, uint64_t tag) override {
    Rank& rank = ranks_[node.id()];
    const uint32_t lane = lane_of(tag);
    switch (kind_of(tag)) {
      case Kind::grant:
        send(node, lane, step_of(tag), Kind::granted_data);
        break;
      case Kind::granted_data:
        step_done(node, lane);
        break;
      case Kind::data:
      case Kind::request: {
        Arrivals& a = arrivals(rank, from, lane);
        a.early.push_back(tag);
        match(node, rank, a);
        break;
      }
    }
  }

  void timer(Node& node, uint64_t tag) override {
    const uint32_t lane = static_cast<uint32_t>(tag >> 32 & 0x3fffffff), step = static_cast<uint32_t>(tag);
    switch (static_cast<Timer>(tag >> 62)) {
      case Timer::round:
        begin_round(node, lane);
        break;
      case Timer::post:
        post(node, lane, step);
        break;
      case Timer::waited:
        step_done(node, lane);
        break;
    }
  }

  // Ranks that are not through, when nothing can happen any more.
  std::string unfinished() const {
    std::string text;
    uint32_t shown = 0, count = 0;
    for (uint32_t r = 0; r < ranks_.size(); r++)
      for (uint32_t l = 0; l < schedule_.lanes(); l++) {
        const Lane& lane = ranks_[r].lanes[l];
        if (lane.round >= schedule_.rounds(l) && lane.pending == 0) continue;
        count++;
        if (shown++ < 4)
          text += "; rank " + std::to_string(r) + " waits in round " + std::to_string(lane.round - 1) +
                  " for " + std::to_string(lane.pending) + " of its messages";
      }
    return count == 0 ? "" : std::to_string(count) + " ranks never finish" + text;
  }

  void report(RunOutcome* outcome) const {
    outcome->time = finished_.last - started_.first;
    for (size_t s = 0; s < begins_.size(); s++) {
      if (begins_[s].first == UINT64_MAX) {
        outcome->sequences.emplace_back();
        continue;
      }
      outcome->sequences.push_back({begins_[s].first, begins_[s].last, ends_[s].first, ends_[s].last});
    }
  }

 private:
  enum class Timer : uint8_t { round, post, waited };
  static uint64_t timer_tag(Timer t, uint32_t lane, uint32_t step) {
    return uint64_t{static_cast<uint8_t>(t)} << 62 | uint64_t{lane} << 32 | step;
  }
  struct Lane {
    uint32_t round = 0;    // the next one
    uint32_t pending = 0;  // steps of this round that are not done, and the wait itself
    std::vector<Step> steps;
  };
  // Messages and receives of one peer and lane that have not met.
  struct Arrivals {
    uint32_t peer, lane;
    uint32_t posted = 0;          // receives that wait
    std::vector<uint64_t> early;  // tags of what came before its receive
  };
  struct Rank {
    Time cpu_free = 0;
    std::vector<Lane> lanes;
    std::vector<Arrivals> arrivals;  // few at a time
  };

  bool rendezvous(uint64_t bytes) const { return machine_.eager_bytes != 0 && bytes > machine_.eager_bytes; }

  static Arrivals& arrivals(Rank& rank, uint32_t peer, uint32_t lane) {
    Arrivals* unused = nullptr;
    for (Arrivals& a : rank.arrivals) {
      if (a.peer == peer && a.lane == lane) return a;
      if (a.posted == 0 && a.early.empty()) unused = &a;
    }
    if (unused != nullptr) {
      unused->peer = peer;
      unused->lane = lane;
      return *unused;
    }
    rank.arrivals.push_back({peer, lane, 0, {}});
    return rank.arrivals.back();
  }

  // The time of a call of MPI on the rank's core, after the calls before.
  static Time call(Rank& rank, Time now, Time cost) {
    rank.cpu_free = std::max(rank.cpu_free, now) + cost;
    return rank.cpu_free;
  }

  void begin_round(Node& node, uint32_t number) {
    Rank& rank = ranks_[node.id()];
    Lane& lane = rank.lanes[number];
    const uint32_t rounds = schedule_.rounds(number);
    do {
      if (lane.round == rounds) {
        finished_.add(std::max(node.now(), rank.cpu_free));
        return;
      }
      schedule_.round(node.id(), number, lane.round++, lane.steps);
    } while (lane.steps.empty() || !wanted(lane.steps[0]));
    const uint32_t sequence = lane.steps[0].sequence;
    if (sequence < begins_.size()) begins_[sequence].add(std::max(node.now(), rank.cpu_free));
    lane.pending = static_cast<uint32_t>(lane.steps.size()) + 1;
    bool sends = false, receives = false;
    for (uint32_t i = 0; i < lane.steps.size(); i++) {
      const Step& s = lane.steps[i];
      sends = sends || s.action == Action::send;
      receives = receives || s.action == Action::receive;
      const bool local = s.action == Action::copy || s.action == Action::reduce;
      const Time cost =
          local ? static_cast<Time>(static_cast<double>(s.bytes) / machine_.memory_bandwidth * 1e12)
                : machine_.call_overhead;
      node.set_timer(call(rank, node.now(), cost), timer_tag(Timer::post, number, i));
    }
    const Time waits = machine_.call_overhead * ((sends ? 1u : 0u) + (receives ? 1u : 0u));
    node.set_timer(call(rank, node.now(), waits), timer_tag(Timer::waited, number, 0));
  }

  bool wanted(const Step& s) const {
    return s.sequence == schedule::kBarrier ||
           (s.sequence >= options_.first_sequence && s.sequence < options_.end_sequence);
  }

  void post(Node& node, uint32_t lane, uint32_t index) {
    Rank& rank = ranks_[node.id()];
    const Step& s = rank.lanes[lane].steps[index];
    switch (s.action) {
      case Action::send:
        send(node, lane, index, rendezvous(s.bytes) ? Kind::request : Kind::data);
        break;
      case Action::receive: {
        Arrivals& a = arrivals(rank, s.peer, lane);
        a.posted++;
        match(node, rank, a);
        break;
      }
      default:
        step_done(node, lane);
        break;  // local work: its time is over
    }
  }

  void match(Node& node, Rank& rank, Arrivals& a) {
    while (a.posted != 0 && !a.early.empty()) {
      const uint64_t tag = a.early.front();
      a.early.erase(a.early.begin());
      a.posted--;
      const uint32_t lane = a.lane, peer = a.peer;
      if (kind_of(tag) == Kind::request) {
        Message m;
        m.to = peer;
        m.tag = make_tag(Kind::grant, lane, step_of(tag));
        node.send(m);
      } else {
        step_done(node, lane);
        return match(node, rank, arrivals(rank, peer, lane));  // the next round may have begun
      }
    }
  }

  void send(Node& node, uint32_t lane, uint32_t index, Kind kind) const {
    const Step& s = ranks_[node.id()].lanes[lane].steps[index];
    Message m;
    m.to = s.peer;
    m.bytes = kind == Kind::request ? 0 : s.bytes;
    m.gap = s.gap;
    m.nic = m.to_nic =
        s.nic == schedule::kAnyNic ? index % machine_.nics : static_cast<uint32_t>(s.nic) % machine_.nics;
    m.tag = make_tag(kind, lane, index);
    node.send(m);
  }

  void step_done(Node& node, uint32_t number) {
    Lane& lane = ranks_[node.id()].lanes[number];
    if (--lane.pending != 0) return;
    const uint32_t sequence = lane.steps[0].sequence;
    if (sequence < ends_.size()) ends_[sequence].add(node.now());
    begin_round(node, number);
  }

  const Machine& machine_;
  const schedule::Schedule& schedule_;
  const RunOptions& options_;
  std::vector<Rank> ranks_;
  std::vector<Span> begins_, ends_;  // by sequence
  Span started_, finished_;
};

}  // namespace

Result<RunOutcome> run_schedule(const Machine& machine, const netsim::Topology& topology,
                                const schedule::Schedule& schedule, const RunOptions& options) {
  if (schedule.ranks() > topology.nodes())
    return Status::error(EINVAL, "the schedule has " + std::to_string(schedule.ranks()) +
                                     " ranks, machine '" + machine.name + "' only " +
                                     std::to_string(topology.nodes()) + " nodes");
  if (Status status = check_memory(machine, options.network, memory_of(schedule)); !status.ok())
    return status;
  const uint32_t sequences = schedule.sequences();
  if ((options.first_sequence != 0 && options.first_sequence >= sequences) ||
      (options.end_sequence != UINT32_MAX && options.end_sequence > sequences))
    return Status::error(EINVAL,
                         schedule.algorithm() + " has " + std::to_string(sequences) +
                             " sequences on this machine, so there is none with number " +
                             std::to_string(std::max(options.first_sequence + 1, options.end_sequence)));
  ScheduleDriver driver(machine, schedule, options);
  Result<netsim::Results> results = netsim::simulate(machine, topology, driver, options.network);
  if (!results.ok()) return results.status();
  const std::string unfinished = driver.unfinished();
  if (!unfinished.empty()) return Status::error(EDEADLK, schedule.algorithm() + ": " + unfinished);
  RunOutcome outcome;
  outcome.results = std::move(results.value());
  driver.report(&outcome);
  if (outcome.results.messages == 0 && (outcome.time == 0 || schedule.ranks() > 1))
    return Status::error(EINVAL, schedule.algorithm() + " on " + std::to_string(schedule.ranks()) +
                                     " ranks does nothing: there is no message and nothing to copy");
  return outcome;
}

}  // namespace tasuki::experiment
