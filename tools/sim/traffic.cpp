// `tasuki sim traffic`: what a network delivers of the synthetic traffic that is offered to it.
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "experiment/memory_check.h"
#include "experiment/traffic.h"
#include "netsim/topology/topology.h"
#include "os/files/output_file.h"
#include "tools/command.h"
#include "tools/sim/common.h"

namespace tasuki::tool {
namespace {

using experiment::TrafficPattern;

const std::map<std::string, TrafficPattern> kPatterns{{"uniform", TrafficPattern::uniform},
                                                      {"transpose", TrafficPattern::transpose},
                                                      {"tornado", TrafficPattern::tornado},
                                                      {"bit-complement", TrafficPattern::bit_complement},
                                                      {"hot-spot", TrafficPattern::hot_spot}};

struct TrafficCommand : SimOptions {
  std::string pattern = "uniform", message = "0", warm_up = "20 us", measure = "50 us", json;
  std::vector<double> loads{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0};
  double gap = 0, hot_share = 0.1;
  uint32_t hot_node = 0;
};

Result<experiment::TrafficOptions> traffic_options(const TrafficCommand& c) {
  Result<experiment::RunOptions> common = run_options(c);
  if (!common.ok()) return common.status();
  experiment::TrafficOptions o;
  o.network = common.value().network;
  o.pattern = kPatterns.at(c.pattern);
  o.hot_node = c.hot_node;
  o.hot_share = c.hot_share;
  o.gap = static_cast<uint32_t>(c.gap * netsim::kGapUnit + 0.5);
  if (!parse_bytes(c.message, ByteUnits::standard, &o.bytes))
    return Status::error(EINVAL, "--message '" + c.message + "': expected a size, for example 2KiB");
  if (!netsim::parse_time(c.warm_up, &o.warm_up))
    return Status::error(EINVAL,
                         "--warm-up '" + c.warm_up + "': expected a time with its unit, for example '20 us'");
  if (!netsim::parse_time(c.measure, &o.measure))
    return Status::error(EINVAL,
                         "--measure '" + c.measure + "': expected a time with its unit, for example '50 us'");
  return o;
}

int run(const TrafficCommand& c, const CLI::App& cmd) {
  if (c.pattern != "hot-spot")
    for (const char* o : {"--hot-node", "--hot-share"})
      if (cmd.count(o) != 0)
        return sim_error(Status::error(EINVAL, std::string(o) + " has no effect without --pattern hot-spot"));
  if (c.model == "flow" && c.threads != 1)
    return sim_error(
        Status::error(EINVAL, "--threads has no effect with --model flow, which runs on one thread"));
  if (Status status = os::check_output("--json", c.json); !status.ok()) return sim_error(status);
  Result<netsim::Machine> machine = find_machine(c);
  if (!machine.ok()) return sim_error(machine.status());
  Result<experiment::TrafficOptions> options = traffic_options(c);
  if (!options.ok()) return sim_error(options.status());
  if (Status fits = experiment::check_memory(machine.value(), options.value().network); !fits.ok())
    return sim_error(fits);
  const auto topology = netsim::make_topology(machine.value());
  printf("%s, %s traffic, %s model; loads are shares of a link's bandwidth\n", machine.value().name.c_str(),
         c.pattern.c_str(), c.model.c_str());
  printf("%9s %9s %12s %12s\n", "offered", "accepted", "mean ns", "99 % ns");
  nlohmann::json points = nlohmann::json::array();
  const PointProgress progress(c.loads.size());
  for (const double load : c.loads) {
    options.value().load = load;
    const Result<experiment::TrafficOutcome> r =
        experiment::run_traffic(machine.value(), *topology, options.value());
    if (!r.ok()) return sim_error(r.status());
    const experiment::TrafficOutcome& t = r.value();
    const double mean = t.latency.mean() * 1e-3, most = static_cast<double>(t.latency.quantile(0.99)) * 1e-3;
    progress(points.size() + 1);
    end_progress();
    printf("%9.4f %9.4f %12.1f %12.1f\n", t.offered, t.accepted, mean, most);
    fflush(stdout);
    points.push_back({{"load", load},
                      {"offered", t.offered},
                      {"accepted", t.accepted},
                      {"latency_mean_ns", mean},
                      {"latency_p99_ns", most},
                      {"messages", t.latency.count()},
                      {"packet_hops", t.results.packet_hops},
                      {"hash", t.results.hash},
                      {"wall_s", t.results.wall_s}});
  }
  const nlohmann::json all{
      {"machine", machine.value().name}, {"pattern", c.pattern}, {"model", c.model}, {"points", points}};
  const std::string text = all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  Status status = c.json.empty() ? Status() : os::write_output("--json", c.json, text);
  return status.ok() ? 0 : sim_error(status);
}

}  // namespace

void add_sim_traffic(CLI::App* sim, int* exit_code) {
  CLI::App* cmd = sim->add_subcommand(
      "traffic",
      "Offer synthetic traffic to the network: how much of each load it delivers, and with which latency.");
  auto c = std::make_shared<TrafficCommand>();
  add_machine_options(cmd, c.get());
  std::vector<std::string> names;
  for (const auto& p : kPatterns) names.push_back(p.first);
  cmd->add_option("--pattern", c->pattern, "Who sends to whom")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  cmd->add_option("--load", c->loads,
                  "Offered loads: bytes that a node puts on the wire, as shares of a link's bandwidth")
      ->delimiter(',')
      ->check(CLI::Range(1e-6, 1e3))
      ->capture_default_str();
  cmd->add_option("--message", c->message, "Payload of a message; 0: one full packet")->capture_default_str();
  cmd->add_option("--gap", c->gap, "Time between two packets of a message, in packet times")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  cmd->add_option("--hot-node", c->hot_node, "With hot-spot: the node")->capture_default_str();
  cmd->add_option("--hot-share", c->hot_share, "With hot-spot: share of all messages that go to the node")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  cmd->add_option("--warm-up", c->warm_up, "Simulated time before the measurement")->capture_default_str();
  cmd->add_option("--measure", c->measure, "Simulated time of the measurement")->capture_default_str();
  cmd->add_option("--json", c->json, "Write the results to this file");
  cmd->callback([c, cmd, exit_code] { *exit_code = run(*c, *cmd); });
}

}  // namespace tasuki::tool
