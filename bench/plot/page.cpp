#include "bench/plot/page.h"

#include <map>

#include "bench/plot/about.h"
#include "bench/plot/apps_page.h"
#include "bench/plot/coarray_page.h"
#include "bench/plot/memory_page.h"
#include "bench/plot/programs_page.h"
#include "bench/plot/space_page.h"

namespace tasuki::bench {

extern const char ddt_js[], heat_js[];

namespace {

using nlohmann::json;

struct Head {
  const char *title, *lead;
};

constexpr char kReport[] =
    " The HPC-152 report, whose figures are named below, is IPSJ SIG Technical Report 2015-HPC-152 No. 9, on "
    "an MPI "
    "library for many-core processors with helper threads (in Japanese).";

Head head_of(const std::vector<json>& measurements) {
  static const std::map<std::string, Head> heads = {
      {"ddt",
       {"Typed messages between two ranks of a node: plain MPI and Tasuki",
        "The halo, transpose and index-list patterns of applications (DDTBench), sent back and forth with "
        "MPI "
        "datatypes. Both programs ran in turns on the same cores; every received byte was checked."}},
      {"pack-ddt",
       {"MPI_Pack and MPI_Unpack by one process: plain MPI and Tasuki",
        "The halo, transpose and index-list patterns of applications (DDTBench), packed into a buffer and "
        "unpacked. The programs ran in turns; every byte was checked."}},
      {"pack",
       {"MPI_Pack and MPI_Unpack of blocks at a distance: plain MPI and Tasuki",
        "Speed-up and rate by size of a block and number of blocks. The programs ran in turns on the same "
        "cores; "
        "every byte was checked before and after the times were taken."}},
      {"typed",
       {"Typed ping-pong of blocks at a distance: plain MPI and Tasuki",
        "Speed-up of the latency by size of a block and number of blocks. The programs ran in turns on the "
        "same "
        "cores; every received byte was checked before and after the times were taken."}},
      {"messages",
       {"Contiguous messages: the best plain MPI and Tasuki",
        "Speed-up by size, of one message and one back, and of 64 one after the other. The programs ran in "
        "turns on the same cores; every received byte was checked before and after the times were taken."}},
      {"bcast",
       {"MPI_Bcast: plain MPI and Tasuki",
        "Speed-up by segment and message size. The programs ran in turns on the same cores; every received "
        "byte "
        "was checked before and after the times were taken. A time includes one barrier, in both."}},
      {"rma",
       {"One-sided communication: the best plain MPI and Tasuki",
        "Speed-up by size, contiguous and typed. The programs ran in turns on the same cores; every byte was "
        "checked before and after the times were taken."}},
      {"collectives",
       {"Collective operations: the best plain MPI and Tasuki",
        "Speed-up by size and number of ranks. The programs ran in turns on the same cores; every byte was "
        "checked before and after the times were taken."}}};
  for (const json& m : measurements)
    if (m["benchmark"] != measurements[0]["benchmark"])
      return {"Plain MPI and Tasuki",
              "The programs of each measurement ran in turns on the same cores; every byte was checked."};
  return heads.at(measurements.at(0)["benchmark"]);
}

}  // namespace

std::string page(const std::vector<json>& measurements) {
  if (!measurements.empty() && measurements[0]["benchmark"] == "memory") return memory_page(measurements);
  if (!measurements.empty() && measurements[0]["benchmark"] == "coarray") return coarray_page(measurements);
  if (!measurements.empty() && measurements[0]["benchmark"] == "coarray-programs")
    return programs_page(measurements);
  if (!measurements.empty() && measurements[0]["benchmark"] == "space") return space_page(measurements);
  if (!measurements.empty() && measurements[0]["benchmark"] == "apps") return apps_page(measurements);
  report::Page page = about(measurements);
  const Head head = head_of(measurements);
  page.title = head.title;
  page.lead = head.lead;
  for (const json& m : measurements)
    if (m.contains("figures") && page.lead == head.lead) page.lead += kReport;
  page.data = json(measurements).dump(-1, ' ', false, json::error_handler_t::replace);
  page.scripts = {report::charts_js, heat_js, ddt_js};
  return report::page(page);
}

}  // namespace tasuki::bench
