// A finished simulation for tests of what comes out: an all-to-all on a machine, and what the ranks of a
// program that exchanges with its neighbours might have logged.
#pragma once

#include <memory>

#include "experiment/schedule_run.h"
#include "netsim/test/scripted.h"
#include "simmpi/report/report.h"

namespace tasuki::simmpi {

struct Example {
  netsim::Machine machine;
  std::unique_ptr<const netsim::Topology> topology;
  experiment::RunOutcome outcome;
  ProgramLog log;
  std::string error;

  SimulationReport report(bool with_log) const {
    SimulationReport r;
    r.machine = &machine;
    r.topology = topology.get();
    r.results = &outcome.results;
    r.time = outcome.time;
    r.title = "All-to-all, <b>\"quoted\"</b> & </script>";  // must arrive as it is
    r.command = "tasuki sim --schedule a2at";
    r.settings = {{"schedule", "a2at"}, {"bytes", "16 KiB"}};
    r.sequences = &outcome.sequences;
    if (with_log) r.log = &log;
    return r;
  }
};

inline ProgramLog exchange_log(uint32_t ranks, uint64_t end, uint32_t steps) {
  ProgramLog log;
  log.ranks.resize(ranks);
  const uint64_t step = end / (steps + 1);
  for (uint32_t r = 0; r < ranks; r++) {
    RankLog& me = log.ranks[r];
    log.node_of.push_back(r);
    const auto call = [&me](const char* name, uint64_t begin, uint64_t finish, int32_t peer, uint64_t bytes) {
      me.calls.push_back({name, begin, finish, peer, bytes});
      me.in_mpi += finish > begin ? finish - begin : 0;
    };
    const uint32_t next = (r + 1) % ranks;
    for (uint32_t s = 0; s < steps; s++) {
      const uint64_t at = s * step + (r * 7919 + s * 104729) % 100 * step / 400, data = at + step / 2;
      const uint64_t arrives = data + step / 8;
      call("MPI_Isend", at, at + step / 50, static_cast<int32_t>(next), 65536);
      call("MPI_Recv", at + step / 50, s * step + step * 7 / 8 + 10, kAnyPeer, 65536);
      call("MPI_Wait", s * step + step * 7 / 8 + 10, s * step + step * 29 / 32, kNoPeer, 0);
      call("MPI_Allreduce", s * step + step * 29 / 32, (s + 1) * step, kNoPeer, 8);
      me.messages.push_back(
          {r, next, 65536, 0, at, at + step / 60, std::min(arrives, s * step + step * 7 / 8)});
    }
    if (r == 1) call("MPI_Recv", steps * step, 0, 0, 64);  // nobody answers
    if (r == 1) me.messages.push_back({1, 0, 64, 9, steps * step, steps * step, 0});
    me.call_count = me.calls.size();
    me.message_count = me.messages.size();
    me.message_bytes = 65536 * steps;
    me.finished = r == 1 ? 0 : steps * step;
  }
  return log;
}

inline Example make_example(const netsim::Machine& machine, const char* algorithm, uint64_t bytes,
                            uint32_t gap, bool link_bins = true,
                            netsim::Model model = netsim::Model::packet) {
  Example e;
  e.machine = machine;
  e.topology = netsim::make_topology(machine);
  schedule::Parameters p;
  p.ranks = machine.nodes();
  p.bytes = bytes;
  p.shape = machine.extents;
  p.gap = gap;
  Result<schedule::Schedule> s = schedule::make(*schedule::find(algorithm), p);
  if (!s.ok()) {
    e.error = s.status().message();
    return e;
  }
  experiment::RunOptions o;
  o.network.link_bins = link_bins;
  o.network.model = model;
  Result<experiment::RunOutcome> outcome = experiment::run_schedule(machine, *e.topology, s.value(), o);
  if (!outcome.ok()) {
    e.error = outcome.status().message();
    return e;
  }
  e.outcome = std::move(outcome.value());
  e.log = exchange_log(machine.nodes(), e.outcome.results.end, 12);
  return e;
}

}  // namespace tasuki::simmpi
