// The measurement of coarrays as text: a table for each operation.
#include <cstdio>

#include "bench/driver/benchmarks/coarray.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/figures/text.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

bool has(const json& r, const char* column) {
  return r.contains(column) && r[column].is_number();
}

std::string ratio(const json& r, const char* column) {
  return has(r, column) ? ratio_text(r[column]) : "-";
}

std::string microseconds(const json& r, const char* column) {
  if (!has(r, column)) return "-";
  const double v = r[column];
  char text[32];
  snprintf(text, sizeof text, v < 100 ? "%.2f" : "%.0f", v);
  return text;
}

// The largest and the mean of a quotient over the rows of an operation.
void summarize(std::string* out, const json& m, const std::string& operation, const char* column,
               const char* what) {
  std::vector<double> all;
  double worst = 0;
  std::string where;
  for (const json& r : m["rows"]) {
    if (r["operation"] != operation || !r.contains(column)) continue;
    all.push_back(r[column]);
    if (all.back() <= worst) continue;
    worst = all.back();
    where = r["section"];
  }
  if (all.empty()) return;
  append(out, "%s: %s on average, %s at most (%s)\n", what, ratio_text(geometric_mean(all)).c_str(),
         ratio_text(worst).c_str(), where.c_str());
}

}  // namespace

std::string coarray_place(const json& m) {
  return m.value("where", "node") == "hosts" ? "on two hosts (network namespaces of this machine)"
                                             : "in one node";
}

std::string coarray_table(const json& m) {
  const char* const format = "%-31s %9s %9s %9s %9s %9s %9s %8s %8s\n";
  std::string out, last;
  const auto end_of = [&](const std::string& operation) {
    if (operation.empty()) return;
    const bool sections = operation.starts_with("section");
    summarize(&out, m, operation, "of_send",
              sections ? "tasuki run / the faster packed transfer" : "tasuki run / Send and Recv");
    summarize(&out, m, operation, "of_rma",
              sections ? "windows / the faster packed transfer" : "windows / MPI RMA");
    out += "\n";
  };
  for (const json& r : m["rows"]) {
    const std::string operation = r["operation"];
    if (operation != last) {
      end_of(last);
      append(&out, "-- %s\n", operation.c_str());
      append(&out, format, "section", "bytes", "Send,Recv", "MPI RMA", "host", "windows", "run", "run/send",
             "win/RMA");
      last = operation;
    }
    append(&out, format, r["section"].get<std::string>().c_str(),
           std::to_string(r["bytes"].get<uint64_t>()).c_str(), microseconds(r, "send_us").c_str(),
           microseconds(r, "rma_us").c_str(), microseconds(r, "host_us").c_str(),
           microseconds(r, "window_us").c_str(), microseconds(r, "run_us").c_str(),
           ratio(r, "of_send").c_str(),
           (ratio(r, "of_rma") + (!r["verified"].get<bool>() ? " NO"
                                  : r.value("noisy", false)  ? " ~"
                                                             : ""))
               .c_str());
  }
  end_of(last);
  return out +
         "Ping-pong: half a round trip with post and wait; Send and Recv, and MPI_Put or MPI_Get with "
         "MPI_Win_flush and an\n"
         "empty message, do the same. put, get: one transfer, complete at the target. Sections: against "
         "loops that pack and\n"
         "unpack. host, windows, run: coarrays by the host's memory, by windows as between hosts, under "
         "`tasuki run`.\n"
         "~: the rounds of a job differ by more than half. NO: data arrived wrong.\n";
}

}  // namespace tasuki::bench
