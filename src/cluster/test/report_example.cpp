// cluster_report_example FILE: what --stats writes for a program with cluster memory, for the test of the
// pages.
#include "cluster/api/report_page.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  tasuki::cluster::Report r;
  r.program = "./a <b>\"program\"</b>";
  r.mpi = "Open MPI v4.1.4";
  r.mechanism = "userfaultfd";
  r.protocol = "ahead";
  r.page_size = "64 KiB";
  r.seconds = 12.5;
  r.stats.local_bytes = 1ull << 28;
  r.stats.server_bytes = 5ull << 29;
  r.stats.faults = 40123;
  r.stats.first_touches = 1234;
  r.stats.swaps_in = 38000;
  r.stats.swaps_out = 36000;
  r.stats.bytes_in = 38000ull << 16;
  r.stats.bytes_out = 30000ull << 16;
  r.stats.wait_previous = 0.75;
  r.stats.wait_page = 2.5;
  r.stats.in_seconds = 2.25;
  r.stats.out_seconds = 1.5;
  r.stats.map_seconds = 0.125;
  r.threads = {{}, {}};
  r.threads[0].tid = 0;
  r.threads[0].faults = 40000;
  r.threads[0].wait_seconds = 3.5;
  r.threads[1].tid = 1;
  r.threads[1].faults = 123;
  r.servers.push_back({"host-7 rank 1", 5ull << 28, true, 19000ull << 16, 15000ull << 16});
  r.servers.push_back({"host-8 rank 2", 5ull << 28, false, 19000ull << 16, 15000ull << 16});
  r.cache = {true, 1ull << 26, 3ull << 24, 5ull << 27, 1ull << 24, 1ull << 27, 9000, 1000};
  return write_report(r, argv[1]).ok() ? 0 : 1;
}
