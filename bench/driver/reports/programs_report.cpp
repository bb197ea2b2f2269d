// The measurement of the paper's programs as text: performance and times of each version, source lines; and
// two of them compared.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bench/driver/benchmarks/programs.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/figures/text.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

std::string title_of(const json& r) {
  std::string title;
  for (const ProgramVersion& v : program_versions())
    if (r["version"] == v.name) title = v.title;
  return title;
}

std::string way_of(const json& r) {
  for (const ProgramWay& w : program_ways())
    if (r["way"] == w.name) return w.title;
  return r["way"];
}

std::string milliseconds(const json& r, const char* column) {
  char text[32];
  const double ms = 1e3 * r[column].get<double>();
  snprintf(text, sizeof text, ms < 10 ? "%.4f" : "%.2f", ms);
  return text;
}

std::string percent(const json& r, const char* column) {
  if (!r.contains(column)) return "-";
  char text[32];
  snprintf(text, sizeof text, "%.1f%%", 100 * r[column].get<double>());
  return text;
}

// The line that says what is wrong: a compiler's first error, a program's verdict, or else the first.
std::string reason(const std::string& failure) {
  const std::string first = failure.substr(0, failure.find('\n'));
  std::string text = first;
  for (const char* mark : {"error:", "NOT VERIFIED", "tasuki"}) {
    const size_t at = failure.find(mark, first.size());
    if (at == std::string::npos) continue;
    const size_t begin = failure.rfind('\n', at) + 1;
    text.erase(std::min({text.find(" by '"), text.find(", output:"), text.size()}));
    text.append(": ").append(failure, failure.find_first_not_of(' ', begin), std::string::npos);
    text.erase(std::min(text.find('\n'), text.size()));
    break;
  }
  if (text.size() > 200) text.replace(200, std::string::npos, "...");
  return text;
}

std::string group_of(const json& r) {
  return r["program"].get<std::string>() + " " + r["size"].get<std::string>();
}

const char* const kRow = "%-22s %5s %-10s %12s %10s %10s %10s %10s %9s %9s  %s\n";

}  // namespace

std::string programs_table(const json& m) {
  std::string out, last;
  for (const json& r : m["rows"]) {
    if (group_of(r) != last) {
      append(&out, "%s-- %s, milliseconds of an iteration\n", last.empty() ? "" : "\n", group_of(r).c_str());
      append(&out, kRow, "version", "ranks", "started", r["unit"].get<std::string>().c_str(), "iteration",
             "compute", "communic.", "reduction", "of s/r", "same way", "verified");
      last = group_of(r);
    }
    const std::string title = title_of(r), ranks = std::to_string(r["ranks"].get<int>()), way = way_of(r);
    if (r.contains("failure")) {
      append(&out, "%-22s %5s %-10s FAILED: %s\n", title.c_str(), ranks.c_str(), way.c_str(),
             reason(r["failure"].get<std::string>()).c_str());
      continue;
    }
    char performance[32];
    snprintf(performance, sizeof performance, "%.1f", r["performance"].get<double>());
    append(&out, kRow, title.c_str(), ranks.c_str(), way.c_str(), performance,
           milliseconds(r, "seconds").c_str(), milliseconds(r, "compute").c_str(),
           milliseconds(r, "communication").c_str(), milliseconds(r, "reduction").c_str(),
           percent(r, "of_send").c_str(), percent(r, "of_send_same").c_str(),
           r["noisy"].get<bool>() ? "yes ~" : "yes");
  }
  out +=
      "\nof s/r: performance against Send/Recv of plain MPI; same way: against Send/Recv under `tasuki run`. "
      "windows: coarrays by windows\n"
      "of the MPI library, as between hosts. ~: the rounds differ by more than half.\n";
  if (m["lines"].empty()) return out;
  const char* const format = "%-8s %-22s %8s %8s %8s %10s\n";
  out += "\n-- source lines\n";
  append(&out, format, "program", "version", "own", "shared", "together", "paper");
  for (const json& l : m["lines"]) {
    const int own = l["own"], shared = l["shared"];
    append(&out, format, l["program"].get<std::string>().c_str(), title_of(l).c_str(),
           std::to_string(own).c_str(), std::to_string(shared).c_str(), std::to_string(own + shared).c_str(),
           l.contains("paper") ? std::to_string(l["paper"].get<int>()).c_str() : "-");
  }
  return out +
         "Lines that are not empty and not only comment. own: of the version's file; shared: of the headers "
         "that come with it, where they\n"
         "are compiled for it: problem, kernels, times, verification, and for the local view a sum over "
         "images. The global view has\n"
         "kernels of its own, for its loops carry directives. paper: table 2, whole programs.\n";
}

std::string programs_comparison(const json& older, const json& newer) {
  const char* const format = "%-58s %10s %10s %8s %8s\n";
  std::string out, missing;
  append(&out, format, "", "old ms", "new ms", "old/new", "best");
  std::vector<double> gains, best;
  const auto find = [](const json& m, const json& wanted) -> const json* {
    for (const json& r : m["rows"])
      if (r["pattern"] == wanted["pattern"] && r.contains("seconds")) return &r;
    return nullptr;
  };
  for (const json& b : newer["rows"]) {
    const std::string name = b["pattern"];
    const json* a = find(older, b);
    if (!b.contains("seconds") || a == nullptr) {
      if (b.contains("seconds")) missing += "only in new: " + name + "\n";
      continue;
    }
    gains.push_back((*a)["seconds"].get<double>() / b["seconds"].get<double>());
    best.push_back((*a)["best_seconds"].get<double>() / b["best_seconds"].get<double>());
    append(&out, format, name.c_str(), milliseconds(*a, "seconds").c_str(),
           milliseconds(b, "seconds").c_str(), ratio_text(gains.back()).c_str(),
           ratio_text(best.back()).c_str());
  }
  for (const json& a : older["rows"])
    if (a.contains("seconds") && find(newer, a) == nullptr)
      missing += "only in old: " + a["pattern"].get<std::string>() + "\n";
  if (!gains.empty())
    append(&out, format, "geometric mean", "", "", ratio_text(geometric_mean(gains)).c_str(),
           ratio_text(geometric_mean(best)).c_str());
  return out + "\nold/new: times of an iteration, above 1 is faster now; best: of the fastest rounds.\n" +
         missing;
}

}  // namespace tasuki::bench
