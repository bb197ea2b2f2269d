#include "bench/driver/reports/report.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "bench/driver/benchmarks/apps.h"
#include "bench/driver/benchmarks/coarray.h"
#include "bench/driver/benchmarks/memory.h"
#include "bench/driver/benchmarks/programs.h"
#include "bench/driver/benchmarks/space.h"
#include "bench/driver/benchmarks/sweep.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/figures/text.h"
#include "os/files/text_file.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

// Three significant digits or so, in at most 9 columns; "-" for what was not measured.
std::string microseconds(const json& value) {
  if (!value.is_number()) return "-";
  const double us = value.get<double>();
  char text[32];
  snprintf(text, sizeof text, us < 0.1 ? "%.3f" : us < 10 ? "%.2f" : us < 1000 ? "%.1f" : "%.0f", us);
  return text;
}

std::string ratio(const json& value) {
  if (!value.is_number()) return "-";
  return ratio_text(value.get<double>());
}

std::string remark(const json& r) {
  std::string text = !r["verified"].get<bool>() ? "NO" : r.value("noisy", false) ? "yes ~" : "yes";
  if (r.contains("best_peer"))
    text += std::string(7 - std::min<size_t>(7, text.size()), ' ') + " " + r["best_peer"].get<std::string>();
  return text;
}

void append_rows(std::string* out, const json& rows) {
  for (const json& r : rows)
    append(out, "%-14s %9lld %10s %10s %7s %10s %10s  %s\n", r["pattern"].get<std::string>().c_str(),
           r["bytes"].get<long long>(), microseconds(r["plain_us"]).c_str(),
           microseconds(r["tasuki_us"]).c_str(), ratio(r.value("ratio", json())).c_str(),
           microseconds(r["memcpy_us"]).c_str(), microseconds(r["direct_us"]).c_str(), remark(r).c_str());
}

const json* find_row(const json& measurement, const json& wanted) {
  for (const char* part : {"rows", "contiguous"})
    for (const json& r : measurement[part])
      if (r["pattern"] == wanted["pattern"] && r["bytes"] == wanted["bytes"] &&
          r.value("operation", "") == wanted.value("operation", ""))
        return &r;
  return nullptr;
}

// older/newer of one column, or null.
json quotient(const json& older, const json& newer, const char* column) {
  const json &a = older[column], &b = newer[column];
  if (!a.is_number() || !b.is_number() || b.get<double>() <= 0) return json();
  return a.get<double>() / b.get<double>();
}

std::string title(const json& m) {
  return m["versions"]["mpi"].get<std::string>() + ", Tasuki " + m["versions"]["tasuki"].get<std::string>() +
         ", " + m["machine"]["cpu"].get<std::string>() + ", " + m["date"].get<std::string>();
}

}  // namespace

Result<json> read_measurement(const std::string& path) {
  const Result<std::string> text = os::read_file(path);
  if (!text.ok()) return text.status();
  json m = json::parse(text.value(), nullptr, false);
  if (m.is_discarded()) return Status::error(EINVAL, path + ": not JSON");
  static constexpr const char* kBenchmarks[] = {
      "ddt",     "pack-ddt",         "pack",  "typed", "bcast", "rma", "collectives", "memory",
      "coarray", "coarray-programs", "space", "apps"};
  const std::string benchmark = m.is_object() ? m.value("benchmark", "") : "";
  if (std::find(std::begin(kBenchmarks), std::end(kBenchmarks), benchmark) == std::end(kBenchmarks))
    return Status::error(EINVAL, path +
                                     ": not a measurement of `tasuki bench` ddt, pack, typed, bcast, rma, "
                                     "memory, coarray, space or apps");
  if (m.value("format", 0) != 1)
    return Status::error(EINVAL, path + ": written in format " + m.value("format", json()).dump() +
                                     ", this version of tasuki reads format 1");
  for (const char* key : {"machine", "versions", "rows", "contiguous", "geomean"})
    if (!m.contains(key)) return Status::error(EINVAL, path + ": has no `" + key + "`");
  return m;
}

namespace {

std::string what_is_measured(const json& m) {
  const std::string benchmark = m["benchmark"];
  if (benchmark == "memory") return "Programs with more data than local memory. ";
  const std::string rounds =
      ", median of " + std::to_string(m["settings"]["rounds"].get<int>()) + " interleaved rounds.\n\n";
  if (benchmark == "pack-ddt") return "One MPI_Pack or MPI_Unpack by one process, microseconds" + rounds;
  if (benchmark == "apps") return "Programs whose messages have datatypes" + rounds;
  if (benchmark == "coarray-programs")
    return "Programs with coarrays and what they are compared with" + rounds;
  if (benchmark == "coarray") return "Two images " + coarray_place(m) + ", microseconds" + rounds;
  if (benchmark == "ddt") return "Half round trip of two ranks in one node, microseconds" + rounds;
  return "Plain MPI against Tasuki" + rounds;
}

// With several libraries "plain MPI" is the best of them in each row.
void append_means(std::string* out, const json& m) {
  const char* const format = "%-14s %9s %10s %10s %7s %10s %10s\n";
  if (m["rows"].empty()) return;
  append(out, format, "geometric mean", "", "", "", ratio(m["geomean"]).c_str(), "", "");
  if (m.contains("geomean_best_rounds"))
    append(out, format, "of best rounds", "", "", "", ratio(m["geomean_best_rounds"]).c_str(), "", "");
  if (m.contains("geomean_direct"))
    append(out, "%-14s %9s %10s %10s %7s of the speed of hand-written loops\n", "geometric mean", "", "", "",
           ratio(m["geomean_direct"]).c_str());
}

void append_ddt(std::string* out, const json& m) {
  const char* const header = "%-14s %9s %10s %10s %7s %10s %10s  %s\n";
  const bool peers = m.contains("peers");
  append(out, header, "pattern", "bytes", peers ? "best MPI" : "plain MPI", "Tasuki", "ratio", "memcpy",
         "direct", peers ? "verified, best" : "verified");
  for (const char* operation : {"", "pack", "unpack"}) {
    json rows = json::array();
    for (const json& r : m["rows"])
      if (r.value("operation", "") == operation) rows.push_back(r);
    if (*operation != '\0' && !rows.empty()) append(out, "-- %s\n", operation);
    append_rows(out, rows);
  }
  append_means(out, m);
  if (!m["contiguous"].empty()) *out += "\n";
  append_rows(out, m["contiguous"]);
  if (peers) {
    *out += "\n";
    for (const auto& [name, library] : m["peers"].items())
      append(out, "%s: %s\n", name.c_str(), library.get<std::string>().c_str());
  }
  *out += m["benchmark"] == "pack-ddt"
              ? "\nratio: MPI / Tasuki without helper threads. memcpy: the same number of bytes. direct: "
                "hand-written loops"
                "\nthat do the same. ~: the rounds of a job differ by more than half.\n"
              : "\nratio: plain MPI / Tasuki. memcpy: one process, the same number of bytes. direct: one "
                "process, "
                "hand-written"
                "\nloops from send to receive layout. ~: the rounds of a job differ by more than half.\n";
}

}  // namespace

std::string table(const json& m) {
  std::string out;
  append(&out, "%s\n%s", title(m).c_str(), what_is_measured(m).c_str());
  const bool memory = m["benchmark"] == "memory", programs = m["benchmark"] == "coarray-programs";
  const bool named = memory || programs || m["benchmark"] == "apps" || m["benchmark"] == "space";
  if (memory)
    out += memory_table(m);
  else if (m["benchmark"] == "coarray")
    out += coarray_table(m);
  else if (m["benchmark"] == "space")
    out += space_table(m);
  else if (m["benchmark"] == "apps")
    out += apps_table(m);
  else if (programs)
    out += programs_table(m);
  else if (m.contains("figures"))
    out += sweep_table(m);
  else
    append_ddt(&out, m);
  for (const json& note : m.value("notes", json::array())) out += "note: " + note.get<std::string>() + "\n";
  for (const char* part : {"rows", "contiguous"})
    for (const json& r : m[part])
      if (r.contains("failure"))
        out += std::string(r.value("finished", true) ? "VERIFICATION FAILED: " : "NOT FINISHED: ") +
               (named ? r["pattern"].get<std::string>() + ": " : "") + r["failure"].get<std::string>() + "\n";
  return out;
}

std::string comparison(const json& older, const json& newer) {
  std::string out;
  append(&out, "old: %s\nnew: %s\n\n", title(older).c_str(), title(newer).c_str());
  if (older["benchmark"] == "memory" && newer["benchmark"] == "memory")
    return out + memory_comparison(older, newer);
  if (older["benchmark"] == "coarray-programs" && newer["benchmark"] == "coarray-programs")
    return out + programs_comparison(older, newer);
  const char* const format = "%-14s %9s %10s %10s %8s %8s %8s\n";
  append(&out, format, "pattern", "bytes", "old us", "new us", "Tasuki", "plain", "ratio");
  std::vector<double> tasuki, plain, gain;
  std::string missing;
  for (const char* part : {"rows", "contiguous"}) {
    for (const json& b : newer[part]) {
      const std::string name = b["pattern"].get<std::string>(),
                        bytes = std::to_string(b["bytes"].get<long long>());
      const json* a = find_row(older, b);
      if (a == nullptr) {
        append(&missing, "only in new: %s %s\n", name.c_str(), bytes.c_str());
        continue;
      }
      const json t = quotient(*a, b, "tasuki_us"), p = quotient(*a, b, "plain_us");
      json g;  // of the ratios to plain MPI: what remains when the machine has become faster or slower
      if (t.is_number() && p.is_number()) g = t.get<double>() / p.get<double>();
      append(&out, format, name.c_str(), bytes.c_str(), microseconds((*a)["tasuki_us"]).c_str(),
             microseconds(b["tasuki_us"]).c_str(), ratio(t).c_str(), ratio(p).c_str(), ratio(g).c_str());
      if (strcmp(part, "rows") != 0 || !g.is_number()) continue;
      tasuki.push_back(t);
      plain.push_back(p);
      gain.push_back(g);
    }
    for (const json& a : older[part])
      if (find_row(newer, a) == nullptr)
        append(&missing, "only in old: %s %lld\n", a["pattern"].get<std::string>().c_str(),
               a["bytes"].get<long long>());
  }
  if (!gain.empty())
    append(&out, format, "geometric mean", "", "", "", ratio(geometric_mean(tasuki)).c_str(),
           ratio(geometric_mean(plain)).c_str(), ratio(geometric_mean(gain)).c_str());
  append(
      &out,
      "\nTasuki, plain: old/new time, above 1 is faster now. ratio: Tasuki's gain against plain MPI's.\n%s",
      missing.c_str());
  return out;
}

}  // namespace tasuki::bench
