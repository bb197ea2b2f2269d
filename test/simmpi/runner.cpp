// Runs one program in the simulator, for tests: runner MACHINE RANKS [option=value...] -- PROGRAM ARGS
//   threads=N payload=0 log=1 model=flow|fixed alltoall=NAME eager=BYTES overhead=PS patience=SECONDS
// Prints one line about the run to stdout and what went wrong to stderr; ends as `tasuki sim` does. model=fixed is a network in
// which every message takes one microsecond: it tests this part without the network model.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <queue>
#include <tuple>

#include "simmpi/run/run_program.h"

using namespace tasuki;  // NOLINT: a test program

namespace {

constexpr netsim::Time kLatency = 1'000'000;

class FixedNetwork {
 public:
  explicit FixedNetwork(netsim::Driver& driver, uint32_t nodes) : driver_(driver), nodes_(nodes) {}

  Result<netsim::Results> run() {
    std::vector<FixedNode> nodes;
    for (uint32_t i = 0; i < nodes_; i++) nodes.emplace_back(*this, i);
    for (FixedNode& n : nodes) driver_.start(n);
    netsim::Time end = 0;
    while (!events_.empty() && failure_.empty()) {
      const Event e = events_.top();
      events_.pop();
      FixedNode& n = nodes[e.node];
      end = e.at;
      n.at(e.at);
      if (e.kind == 0) driver_.delivered(n, e.from, e.bytes, e.tag);
      if (e.kind == 1) driver_.sent(n, e.tag);
      if (e.kind == 2) driver_.timer(n, e.tag);
    }
    if (!failure_.empty()) return Status::error(EIO, failure_);
    netsim::Results r;
    r.model = "fixed";
    r.end = end;
    return r;
  }

 private:
  struct Event {
    netsim::Time at;
    uint32_t node;
    int kind;
    uint64_t tag;
    uint32_t from;
    uint64_t bytes;
    bool operator<(const Event& o) const {
      return std::tie(at, node, kind, tag) > std::tie(o.at, o.node, o.kind, o.tag);
    }
  };
  class FixedNode final : public netsim::Node {
   public:
    FixedNode(FixedNetwork& network, uint32_t id) : network_(network) { id_ = id; }
    void at(netsim::Time t) { now_ = t; }
    void send(const netsim::Message& m) override {
      network_.events_.push({now_ + kLatency / 10, id_, 1, m.tag, id_, m.bytes});
      network_.events_.push({now_ + kLatency, m.to, 0, m.tag, id_, m.bytes});
    }
    void set_timer(netsim::Time t, uint64_t tag) override { network_.events_.push({t, id_, 2, tag, id_, 0}); }
    void fail(const std::string& why) override {
      if (network_.failure_.empty()) network_.failure_ = why;
    }

   private:
    FixedNetwork& network_;
  };

  netsim::Driver& driver_;
  uint32_t nodes_;
  std::priority_queue<Event> events_;
  std::string failure_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  auto machine = netsim::load_machine(argv[1]);
  if (!machine.ok()) {
    fprintf(stderr, "%s\n", machine.status().message().c_str());
    return 2;
  }
  simmpi::ProgramOptions options;
  options.ranks = static_cast<uint32_t>(strtoul(argv[2], nullptr, 10));
  bool fixed = false;
  int i = 3;
  for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
    const std::string text = argv[i];
    const size_t equal = text.find('=');
    const std::string key = text.substr(0, equal),
                      value = equal == std::string::npos ? "" : text.substr(equal + 1);
    if (key == "threads")
      options.network.threads = static_cast<uint32_t>(atoi(value.c_str()));
    else if (key == "payload")
      options.payload = value != "0";
    else if (key == "model" && value == "flow")
      options.network.model = netsim::Model::flow;
    else if (key == "model")
      fixed = value == "fixed";
    else if (key == "eager")
      machine.value().eager_bytes = strtoull(value.c_str(), nullptr, 10);
    else if (key == "patience")
      options.patience_s = strtod(value.c_str(), nullptr);
    else if (key == "overhead")
      machine.value().call_overhead = strtoull(value.c_str(), nullptr, 10);
    else
      options.collectives[key] = value;
  }
  for (i++; i < argc; i++) options.command.emplace_back(argv[i]);
  const auto fixed_network = [](const netsim::Machine& m, const netsim::Topology&, netsim::Driver& driver,
                                const netsim::Options&) { return FixedNetwork(driver, m.nodes()).run(); };
  const auto outcome = fixed ? simmpi::run_program(machine.value(), options, fixed_network)
                             : simmpi::run_program(machine.value(), options);
  if (!outcome.ok()) {
    fprintf(stderr, "%s\n", outcome.status().message().c_str());
    return 2;
  }
  const simmpi::ProgramOutcome& o = outcome.value();
  uint64_t calls = 0, messages = 0;
  for (const simmpi::RankLog& r : o.log.ranks) {
    calls += r.call_count;
    messages += r.message_count;
  }
  printf("simulated %.9f s, %llu calls, %llu messages, hash %016llx\n",
         static_cast<double>(o.network.end) * 1e-12, static_cast<unsigned long long>(calls),
         static_cast<unsigned long long>(messages), static_cast<unsigned long long>(o.network.hash));
  if (!o.failure.empty()) fprintf(stderr, "%s\n", o.failure.c_str());
  return o.exit_code;
}
