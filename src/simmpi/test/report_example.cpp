// report_example KIND DIRECTORY [bytes]: simulates an all-to-all and writes its report, for the test of the
// page.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "simmpi/test/example_report.h"

using namespace tasuki;

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string kind = argv[1];
  netsim::Machine m = netsim::paper_machine({4, 4});
  uint64_t bytes = argc > 3 ? strtoull(argv[3], nullptr, 10) : 16384;
  if (kind == "torus9") m = netsim::paper_machine({9, 9});
  if (kind == "torus8") m = netsim::paper_machine({8, 8});
  if (kind == "torus16") m = netsim::paper_machine({16, 16});
  if (kind == "torus64") m = netsim::paper_machine({64, 64});
  if (kind == "torus3d") m = netsim::paper_machine({4, 3, 5});
  if (kind == "fat_tree") {
    m.topology = netsim::TopologyKind::fat_tree;
    m.arity = 4;
    m.levels = 3;
    m.router_nodes = 4;
  }
  if (kind == "dragonfly") {
    m.topology = netsim::TopologyKind::dragonfly;
    m.group_routers = 4;
    m.global_links = 2;
    m.router_nodes = 2;
    m.channels = 3;
  }
  const bool torus2d = m.topology == netsim::TopologyKind::torus && m.extents.size() == 2;
  if (!torus2d) m.extents.resize(m.topology == netsim::TopologyKind::torus ? m.extents.size() : 0);
  const char* algorithm = kind == "torus64" ? "halo" : torus2d ? "a2at" : "pairwise";
  const simmpi::Example e = simmpi::make_example(m, algorithm, bytes, 0, kind != "plain");
  if (!e.error.empty()) {
    fprintf(stderr, "%s\n", e.error.c_str());
    return 1;
  }
  simmpi::SimulationReport report = e.report(argc > 4);
  fputs(simmpi::summary(report).c_str(), stdout);
  const Status s = simmpi::write_report(report, argv[2]);
  if (!s.ok()) fprintf(stderr, "%s\n", s.message().c_str());
  return s.ok() ? 0 : 1;
}
