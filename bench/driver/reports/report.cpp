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
  const bool noisy = r.value("noisy", false) || r.value("touched_noisy", false);
  std::string text = !r["verified"].get<bool>() ? "NO" : noisy ? "yes ~" : "yes";
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

// What may not have been measured.
json member(const json& r, const std::string& name) {
  return r.value(name, json());
}

constexpr char kMessageRow[] = "%-14s %7s %9s %9s %6s %9s %5s %9s %9s %6s  %s\n";

void append_message_rows(std::string* out, const json& rows) {
  for (const json& r : rows)
    append(out, kMessageRow, r["pattern"].get<std::string>().c_str(),
           std::to_string(r["bytes"].get<long long>()).c_str(),
           microseconds(member(r, "touched_plain_us")).c_str(),
           microseconds(member(r, "touched_tasuki_us")).c_str(), ratio(member(r, "touched_ratio")).c_str(),
           microseconds(member(r, "limit_us")).c_str(), ratio(member(r, "limit_ratio")).c_str(),
           microseconds(member(r, "plain_us")).c_str(), microseconds(member(r, "tasuki_us")).c_str(),
           ratio(member(r, "ratio")).c_str(), remark(r).c_str());
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
json quotient(const json& older, const json& newer, const std::string& column) {
  const json a = member(older, column), b = member(newer, column);
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
      "ddt",     "pack-ddt",         "pack",  "typed", "messages", "bcast", "rma", "collectives", "memory",
      "coarray", "coarray-programs", "space", "apps"};
  const std::string benchmark = m.is_object() ? m.value("benchmark", "") : "";
  if (std::find(std::begin(kBenchmarks), std::end(kBenchmarks), benchmark) == std::end(kBenchmarks))
    return Status::error(EINVAL,
                         path +
                             ": not a measurement of `tasuki bench` ddt, pack, typed, messages, bcast, rma, "
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

constexpr char kPackLegend[] = R"(
ratio: MPI / Tasuki without helper threads. memcpy: the same number of bytes. direct: hand-written loops
that do the same. ~: the rounds of a job differ by more than half.
)";
constexpr char kMessageLegend[] = R"(
ratio: plain MPI / Tasuki. touched: the data are written before each message and read after it; what that
takes by itself is not counted. limit: no message, one core reads what the other one has written, and one
copy; "of it": limit / Tasuki, with the touching. ~: the rounds of a job differ by more than half.
)";

// With several libraries "plain MPI" is the best of them in each row.
void append_pack(std::string* out, const json& m) {
  const char* const header = "%-14s %9s %10s %10s %7s %10s %10s  %s\n";
  const bool peers = m.contains("peers");
  append(out, header, "pattern", "bytes", peers ? "best MPI" : "plain MPI", "Tasuki", "ratio", "memcpy",
         "direct", peers ? "verified, best" : "verified");
  for (const char* operation : {"pack", "unpack"}) {
    json rows = json::array();
    for (const json& r : m["rows"])
      if (r.value("operation", "") == operation) rows.push_back(r);
    if (!rows.empty()) append(out, "-- %s\n", operation);
    append_rows(out, rows);
  }
  append(out, header, "geometric mean", "", "", "", ratio(m["geomean"]).c_str(), "", "", "");
  append(out, header, "of best rounds", "", "", "", ratio(member(m, "geomean_best_rounds")).c_str(), "", "",
         "");
  append(out, "%-14s %9s %10s %10s %7s of the speed of hand-written loops\n", "geometric mean", "", "", "",
         ratio(member(m, "geomean_direct")).c_str());
  append_rows(out, m["contiguous"]);
}

void append_messages(std::string* out, const json& m) {
  const bool peers = m.contains("peers");
  const char* const plain = peers ? "best MPI" : "plain MPI";
  append(out, kMessageRow, "", "", "touched:", "", "", "", "", "untouched:", "", "", "");
  append(out, kMessageRow, "pattern", "bytes", plain, "Tasuki", "ratio", "limit", "of it", plain, "Tasuki",
         "ratio", peers ? "verified, best" : "verified");
  append_message_rows(out, m["rows"]);
  if (!m["rows"].empty()) {
    append(out, kMessageRow, "geometric mean", "", "", "", ratio(member(m, "geomean_touched")).c_str(), "",
           ratio(member(m, "geomean_limit")).c_str(), "", "", ratio(m["geomean"]).c_str(), "");
    append(out, kMessageRow, "of best rounds", "", "", "",
           ratio(member(m, "geomean_touched_best_rounds")).c_str(), "", "", "", "",
           ratio(member(m, "geomean_best_rounds")).c_str(), "");
  }
  if (!m["contiguous"].empty()) *out += "\n";
  append_message_rows(out, m["contiguous"]);
}

// Events per message, by both ranks.
void append_counts(std::string* out, const json& m) {
  const char* const format = "%-14s %9s %12s %12s %12s %12s\n";
  const auto number = [](const json& row, const std::string& counts, const std::string& event,
                         const char* whose) {
    const json n = member(member(member(row, counts), event), whose);
    char text[32] = "-";
    if (n.is_number()) snprintf(text, sizeof text, "%.4g", n.get<double>());
    return std::string(text);
  };
  for (const json& name : m["settings"].value("events", json::array())) {
    const std::string event = name;
    append(out, "\n%s of a message, both ranks together\n", event.c_str());
    append(out, format, "", "", "touched:", "", "untouched:", "");
    append(out, format, "pattern", "bytes", "plain MPI", "Tasuki", "plain MPI", "Tasuki");
    for (const char* part : {"rows", "contiguous"})
      for (const json& r : m[part])
        append(out, format, r["pattern"].get<std::string>().c_str(),
               std::to_string(r["bytes"].get<long long>()).c_str(),
               number(r, "touched_counts", event, "plain").c_str(),
               number(r, "touched_counts", event, "tasuki").c_str(),
               number(r, "counts", event, "plain").c_str(), number(r, "counts", event, "tasuki").c_str());
  }
}

void append_ddt(std::string* out, const json& m) {
  const bool pack = m["benchmark"] == "pack-ddt";
  pack ? append_pack(out, m) : append_messages(out, m);
  if (m.contains("peers")) {
    *out += "\n";
    for (const auto& [name, library] : m["peers"].items())
      append(out, "%s: %s\n", name.c_str(), library.get<std::string>().c_str());
  }
  *out += pack ? kPackLegend : kMessageLegend;
  append_counts(out, m);
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

namespace {

// Of the columns whose names begin with `prefix`.
void append_comparison(std::string* out, const json& older, const json& newer, const std::string& prefix,
                       const char* head) {
  const char* const format = "%-18s %9s %10s %10s %8s %8s %8s\n";
  append(out, format, head, "bytes", "old us", "new us", "Tasuki", "plain", "ratio");
  std::vector<double> tasuki, plain, gain;
  for (const char* part : {"rows", "contiguous"})
    for (const json& b : newer[part]) {
      const json* a = find_row(older, b);
      if (a == nullptr) continue;
      const json t = quotient(*a, b, prefix + "tasuki_us"), p = quotient(*a, b, prefix + "plain_us");
      json g;  // of the ratios to plain MPI: what remains when the machine has become faster or slower
      if (t.is_number() && p.is_number()) g = t.get<double>() / p.get<double>();
      append(out, format, b["pattern"].get<std::string>().c_str(),
             std::to_string(b["bytes"].get<long long>()).c_str(),
             microseconds(member(*a, prefix + "tasuki_us")).c_str(),
             microseconds(member(b, prefix + "tasuki_us")).c_str(), ratio(t).c_str(), ratio(p).c_str(),
             ratio(g).c_str());
      if (strcmp(part, "rows") != 0 || !g.is_number()) continue;
      tasuki.push_back(t);
      plain.push_back(p);
      gain.push_back(g);
    }
  if (!gain.empty())
    append(out, format, "geometric mean", "", "", "", ratio(geometric_mean(tasuki)).c_str(),
           ratio(geometric_mean(plain)).c_str(), ratio(geometric_mean(gain)).c_str());
  *out += "\n";
}

void append_unmatched(std::string* out, const json& rows, const json& other, const char* where) {
  for (const json& r : rows)
    if (find_row(other, r) == nullptr)
      append(out, "only in %s: %s %lld\n", where, r["pattern"].get<std::string>().c_str(),
             r["bytes"].get<long long>());
}

}  // namespace

std::string comparison(const json& older, const json& newer) {
  std::string out;
  append(&out, "old: %s\nnew: %s\n\n", title(older).c_str(), title(newer).c_str());
  if (older["benchmark"] == "memory" && newer["benchmark"] == "memory")
    return out + memory_comparison(older, newer);
  if (older["benchmark"] == "coarray-programs" && newer["benchmark"] == "coarray-programs")
    return out + programs_comparison(older, newer);
  const bool touched = older.contains("geomean_touched") && newer.contains("geomean_touched");
  if (touched) append_comparison(&out, older, newer, "touched_", "touched messages");
  if (!touched || (member(older, "geomean").is_number() && member(newer, "geomean").is_number()))
    append_comparison(&out, older, newer, "", touched ? "untouched messages" : "pattern");
  out += "Tasuki, plain: old/new time, above 1 is faster now. ratio: Tasuki's gain against plain MPI's.\n";
  for (const char* part : {"rows", "contiguous"}) {
    append_unmatched(&out, newer[part], older, "new");
    append_unmatched(&out, older[part], newer, "old");
  }
  return out;
}

}  // namespace tasuki::bench
