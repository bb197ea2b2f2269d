// The measurement of programs with datatypes as text.
#include <cstdio>

#include "bench/driver/benchmarks/apps.h"
#include "bench/driver/figures/text.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

std::string ms_text(const json& us) {
  char text[32];
  const double ms = us.get<double>() / 1e3;
  snprintf(text, sizeof text, ms < 10 ? "%.4f" : "%.2f", ms);
  return text;
}

std::string percent_text(double share, const char* format) {
  char text[32];
  snprintf(text, sizeof text, format, 100 * share);
  return text;
}

const char* const kAppsRow = "%-10s %6s %5s %-5s %-8s %10s %10s %9s %8s %8s %10s  %s\n";

}  // namespace

std::string apps_table(const json& m) {
  std::string out;
  append(&out, kAppsRow, "program", "size", "ranks", "where", "MPI", "plain ms", "Tasuki ms", "gain", "comm.",
         "Tasuki's", "paper", "verified");
  for (const json& r : m["rows"]) {
    const auto word = [&r](const char* key) { return r[key].get<std::string>(); };
    const std::string program = word("program"), size = word("size"),
                      ranks = std::to_string(r["ranks"].get<int>()), where = word("where"), mpi = word("mpi");
    if (r.contains("failure")) {
      append(&out, "%-10s %6s %5s %-5s %-8s FAILED\n", program.c_str(), size.c_str(), ranks.c_str(),
             where.c_str(), mpi.c_str());
      continue;
    }
    append(&out, kAppsRow, program.c_str(), size.c_str(), ranks.c_str(), where.c_str(), mpi.c_str(),
           ms_text(r["plain_us"]).c_str(), ms_text(r["tasuki_us"]).c_str(),
           percent_text(r["ratio"].get<double>() - 1, "%+.1f %%").c_str(),
           percent_text(r["plain_communication"], "%.0f %%").c_str(),
           percent_text(r["tasuki_communication"], "%.0f %%").c_str(), r.value("paper", "-").c_str(),
           r["noisy"].get<bool>() ? "yes ~" : "yes");
  }
  return out +
         "\nms: of a transform (fft2d), of an iteration (wavefront). gain: plain / Tasuki - 1. comm.: share "
         "of the "
         "plain run's time that goes\n"
         "into communication, waiting for other ranks included; Tasuki's: of the time under Tasuki. ~: the "
         "rounds "
         "differ by more than half.\n"
         "paper: gains on a Xeon Phi. fft2d_datatype with 240 processes: 5 % (4,800 x 4,800) and 21 % (9,600 "
         "x "
         "9,600) against messages\n"
         "through shared memory (figure 13), 13 % and 27 % against eager ones (figure 16). NAS LU with 128 "
         "processes, classes A, B and C:\n"
         "4 to 6 % (figure 14); wavefront has LU's communication, and less to compute.\n";
}

}  // namespace tasuki::bench
