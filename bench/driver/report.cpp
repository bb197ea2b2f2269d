#include "bench/driver/report.h"

#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <fstream>
#include <sstream>

#include "bench/driver/stats.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

[[gnu::format(printf, 2, 3)]] void append(std::string* out, const char* format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  *out += line;
}

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
  char text[32];
  snprintf(text, sizeof text, "%.2f", value.get<double>());
  return text;
}

void append_rows(std::string* out, const json& rows) {
  for (const json& r : rows)
    append(out, "%-14s %9lld %10s %10s %7s %10s %10s  %s\n", r["pattern"].get<std::string>().c_str(),
           r["bytes"].get<long long>(), microseconds(r["plain_us"]).c_str(),
           microseconds(r["tasuki_us"]).c_str(), ratio(r.value("ratio", json())).c_str(),
           microseconds(r["memcpy_us"]).c_str(), microseconds(r["direct_us"]).c_str(),
           !r["verified"].get<bool>() ? "NO"
           : r.value("noisy", false)  ? "yes ~"
                                      : "yes");
}

const json* find_row(const json& measurement, const json& wanted) {
  for (const char* part : {"rows", "contiguous"})
    for (const json& r : measurement[part])
      if (r["pattern"] == wanted["pattern"] && r["bytes"] == wanted["bytes"]) return &r;
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
  std::ifstream in(path);
  if (!in) return Status::error(errno, path + ": " + strerror(errno));
  json m = json::parse(in, nullptr, false);
  if (m.is_discarded()) return Status::error(EINVAL, path + ": not JSON");
  if (!m.is_object() || m.value("benchmark", "") != "ddt")
    return Status::error(EINVAL, path + ": not a measurement of `tasuki bench ddt`");
  if (m.value("format", 0) != 1)
    return Status::error(EINVAL, path + ": written in format " + m.value("format", json()).dump() +
                                     ", this version of tasuki reads format 1");
  for (const char* key : {"machine", "versions", "rows", "contiguous", "geomean"})
    if (!m.contains(key)) return Status::error(EINVAL, path + ": has no `" + key + "`");
  return m;
}

Status write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) return Status::error(errno != 0 ? errno : EIO, path + ": cannot be written: " + strerror(errno));
  return Status();
}

std::string table(const json& m) {
  std::string out;
  append(&out, "%s\n", title(m).c_str());
  append(&out, "Half round trip of two ranks in one node, microseconds, median of %d interleaved rounds.\n\n",
         m["settings"]["rounds"].get<int>());
  const char* const header = "%-14s %9s %10s %10s %7s %10s %10s  %s\n";
  append(&out, header, "pattern", "bytes", "plain MPI", "Tasuki", "ratio", "memcpy", "direct", "verified");
  append_rows(&out, m["rows"]);
  if (!m["rows"].empty())
    append(&out, "%-14s %9s %10s %10s %7s\n", "geometric mean", "", "", "", ratio(m["geomean"]).c_str());
  if (m.contains("geomean_best_rounds") && !m["rows"].empty())
    append(&out, "%-14s %9s %10s %10s %7s\n", "of best rounds", "", "", "",
           ratio(m["geomean_best_rounds"]).c_str());
  if (!m["contiguous"].empty()) out += "\n";
  append_rows(&out, m["contiguous"]);
  out +=
      "\nratio: plain MPI / Tasuki. memcpy: one process, the same number of bytes. direct: one process, "
      "hand-written"
      "\nloops from send to receive layout. ~: the rounds of a job differ by more than half.\n";
  for (const json& note : m.value("notes", json::array())) out += "note: " + note.get<std::string>() + "\n";
  for (const char* part : {"rows", "contiguous"})
    for (const json& r : m[part])
      if (r.contains("failure")) out += "VERIFICATION FAILED: " + r["failure"].get<std::string>() + "\n";
  return out;
}

std::string comparison(const json& older, const json& newer) {
  std::string out;
  append(&out, "old: %s\nnew: %s\n\n", title(older).c_str(), title(newer).c_str());
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
