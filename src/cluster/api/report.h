// What --stats tells at the end: the counters and the time components of DLM-MPI's figures 14 to 27, as text
// or as JSON. report_page.h makes a page of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "pager/pager.h"

namespace tasuki::cluster {

struct Report {
  struct Server {
    std::string name;
    uint64_t bytes = 0;
    bool window = false;
    uint64_t bytes_in = 0, bytes_out = 0;  // seen from rank 0
  };
  struct Disk {
    std::string directory;  // empty: none
    uint64_t bytes = 0, bytes_in = 0, bytes_out = 0;
  };
  struct Cache {
    bool used = false;
    uint64_t bytes = 0, most_bytes = 0;  // the compressed pages may take so many, and took so many
    uint64_t bytes_compressed = 0, bytes_uniform = 0, bytes_out = 0;  // of pages: kept so, or that went on
    uint64_t hits = 0, misses = 0;                                    // units of 4 KiB or one page
  };
  std::string program, mpi, mechanism, protocol, page_size;
  double seconds = 0;  // from dlm_startup to the end
  pager::Stats stats;
  std::vector<pager::ThreadStats> threads;
  std::vector<Server> servers;
  Disk disk;
  Cache cache;
};

std::string report_text(const Report& report);
std::string report_json(const Report& report);

// "x.html" is a page, any other name JSON.
bool is_page(const std::string& file);

// What a program writes at its end: as text to stderr if `file` is empty, as a page or as JSON into it.
using ReportWriter = Status (*)(const Report& report, const std::string& file);
// A ReportWriter without pages.
Status write_plain_report(const Report& report, const std::string& file);

}  // namespace tasuki::cluster
