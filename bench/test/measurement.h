// A measurement as the benchmarks write them, for tests of what reads them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/driver/jobs/machine.h"

namespace tasuki::bench {

// What all of them begin with, and `rest`. `library`: its version, as it calls itself.
inline nlohmann::json measurement(const std::string& benchmark, int rounds, const nlohmann::json& rest,
                                  const std::string& mpi = "openmpi",
                                  const std::string& library = "Open MPI v4") {
  nlohmann::json m = {
      {"benchmark", benchmark},
      {"format", 1},
      {"date", "2026-01-02T03:04:05Z"},
      {"mpi", mpi},
      {"machine", describe_machine()},
      {"versions", {{"tasuki", "0.1.0"}, {"mpi", library}, {"mpi_full", library}, {"compiler", "gcc"}}},
      {"settings", {{"rounds", rounds}}}};
  m.update(rest);
  return m;
}

}  // namespace tasuki::bench
