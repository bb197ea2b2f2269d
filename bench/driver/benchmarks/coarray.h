// `tasuki bench coarray`: puts and gets of coarrays against the messages and the windows of the same MPI
// library, the contestants in turns within one run (program: measure/coarray).
//
// The JSON has the head of run_ddt()'s (`benchmark`, `format`, `machine`, ...), `where`, `rows`, `geomean`,
// `verified`, `notes`. A row has
//
//   operation          "put ping-pong", "get ping-pong": half a round trip, with post and wait (the paper's figure 10);
//                      "put", "get": one transfer that is complete at the target; "section put", "section
//                      get": ping-pong
//   pattern, bytes     what tells it from others, for `tasuki bench compare`; bytes that are moved
//   section            how it is called: "1024 doubles", "column of 1024 x 1024"
//   send_us            MPI_Send and MPI_Recv; of sections a loop before packs and one after unpacks
//   rma_us             MPI_Put or MPI_Get with MPI_Win_flush and an empty message; of sections a packed MPI_Put
//   host_us, window_us, run_us      coarrays: by memory of the host, by windows (as between hosts), under `tasuki run`;
//                                   between hosts window_us alone
//   plain_us, tasuki_us, ratio      send_us where there is one, else rma_us; run_us, or window_us between hosts; plain / Tasuki
//   of_send, of_rma    run_us / send_us (of sections: the faster of send_us and rma_us), window_us / rma_us (of sections: the faster)
//   plain_spread_us, tasuki_spread_us, noisy, verified, failure     as in run_ddt()
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/driver/benchmarks/ddt.h"
#include "bench/driver/jobs/launch.h"

namespace tasuki::bench {

struct CoarrayOptions {
  Mpi mpi;
  std::string program;              // libexec/tasuki/coarray-<mpi>
  std::vector<std::string> runner;  // {"tasuki", "run"}
  bool default_runner = true;
  std::vector<std::string> launch_args;
  std::string where = "node";  // or "hosts": two network namespaces

  std::vector<uint64_t> sizes;  // bytes of the transfers in one piece, multiples of 8
  std::string pattern;          // regular expression, searched in "<pattern>/<bytes>"; empty: all
  double seconds = 0;           // for everything; 0: a second a row
  int rounds = 5;
};

// A section of double[extent[0]][extent[1]][extent[2]], from lower[i] on length[i] elements.
struct CoarraySection {
  std::string name;
  uint64_t extent[3], lower[3], length[3];
  uint64_t bytes() const { return 8 * length[0] * length[1] * length[2]; }
};
// The sections that are measured beside transfers in one piece.
const std::vector<CoarraySection>& coarray_sections();

Result<nlohmann::json> run_coarray(const CoarrayOptions& options,
                                   const std::function<void(const DdtProgress&)>& progress);

// Where the images were, to follow "two images".
std::string coarray_place(const nlohmann::json& measurement);
// The rows as text.
std::string coarray_table(const nlohmann::json& measurement);

}  // namespace tasuki::bench
