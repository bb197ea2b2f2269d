// The measurement of what a shared address space costs as text: one table, by MPI library and ranks.
#include <cstdio>

#include "bench/driver/benchmarks/space.h"
#include "bench/driver/figures/text.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

std::string space_time(const json& row, const char* column) {
  if (!row.contains(column) || !row[column].is_number()) return "-";
  const double us = row[column];
  char text[32];
  snprintf(text, sizeof text, us < 10 ? "%.2f" : us < 1000 ? "%.1f" : "%.0f", us);
  return text;
}

std::string space_remark(const json& row) {
  if (row.contains("refused")) return "not permitted: " + row["refused"].get<std::string>();
  return !row["verified"].get<bool>() ? "NO" : row.value("noisy", false) ? "yes ~" : "yes";
}

}  // namespace

std::string space_operation_text(const json& row) {
  static constexpr struct {
    const char *operation, *text;
  } kTexts[] = {{"fault", "page fault"},
                {"mmap", "mmap, touch, munmap"},
                {"malloc", "malloc, touch, free"},
                {"madvise", "madvise(DONTNEED), touch"},
                {"mprotect", "mprotect twice"},
                {"readv", "process_vm_readv"},
                {"thread", "pthread_create, join"},
                {"fork", "fork, exec, wait"},
                {"spawn", "posix_spawn, wait"},
                {"start", "start and end of the job"}};
  const std::string operation = row["operation"];
  std::string text = operation;
  for (const auto& known : kTexts)
    if (operation == known.operation) text = known.text;
  const uint64_t bytes = row["bytes"];
  return bytes == 0 ? text : text + " " + readable(bytes);
}

std::string space_table(const json& m) {
  const char* const format = "%-31s %10s %10s %7s %13s %13s  %s\n";
  std::string out, last;
  append(&out, format, "us", "plain MPI", "Tasuki", "ratio", "slowest plain", "slowest Tas.", "verified");
  for (const json& r : m["rows"]) {
    const int ranks = r["ranks"];
    const std::string group =
        r["mpi"].get<std::string>() + ", " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks");
    if (group != last) append(&out, "-- %s\n", group.c_str());
    last = group;
    append(&out, format, space_operation_text(r).c_str(), space_time(r, "plain_us").c_str(),
           space_time(r, "tasuki_us").c_str(), r.contains("ratio") ? ratio_text(r["ratio"]).c_str() : "-",
           space_time(r, "plain_slowest_us").c_str(), space_time(r, "tasuki_slowest_us").c_str(),
           space_remark(r).c_str());
  }
  return out +
         "\nAll ranks do the same at the same time; a time is the mean over the ranks, slowest that of the "
         "slowest rank.\n"
         "page fault: one page of fresh memory. ratio: plain MPI / Tasuki. ~: the rounds of a job differ by "
         "more than half.\n";
}

}  // namespace tasuki::bench
