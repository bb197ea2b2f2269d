// The sweeps' results as text: a matrix for each figure, and all rows as comma-separated values.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <set>

#include "bench/driver/benchmarks/sweep.h"
#include "bench/driver/figures/text.h"
#include "bench/driver/reports/report.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

std::string value_text(double value) {
  if (value < 10) return ratio_text(value);
  char text[32];
  snprintf(text, sizeof text, value < 100 ? "%.1f" : "%.0f", value);
  return text;
}

bool in_figure(const json& row, const json& figure) {
  for (const auto& [key, value] : figure["where"].items())
    if (row.value(key, json()) != value) return false;
  return row.contains(figure["x"].get<std::string>()) && row.contains(figure["y"].get<std::string>());
}

// Ratio, or GB/s; negative if it was not measured.
double value_of(const json& row, const json& figure) {
  const json& of = figure["of"];
  const auto time = [&row](const json& column) {
    const json value = row.value(column.get<std::string>(), json());
    return value.is_number() ? value.get<double>() : -1;
  };
  const double a = time(of[0]);
  if (figure["kind"] == "rate") return a > 0 ? row["bytes"].get<double>() / a / 1e3 : -1;
  const double b = time(of[1]);
  return a > 0 && b > 0 ? a / b : -1;
}

std::string matrix(const json& m, const json& figure) {
  const std::string x = figure["x"], y = figure["y"];
  std::set<uint64_t> columns, lines;
  for (const json& r : m["rows"]) {
    if (!in_figure(r, figure)) continue;
    columns.insert(r[x].get<uint64_t>());
    lines.insert(r[y].get<uint64_t>());
  }
  if (columns.empty()) return "";
  std::string out = figure["title"].get<std::string>() + (figure["kind"] == "rate" ? " [GB/s]\n" : "\n");
  const auto padded = [](std::string text, size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
  };
  out += padded(y + "\\" + x, 12);
  for (const uint64_t c : columns) out += padded(readable(c), 7);
  out += "\n";
  for (const uint64_t line : lines) {
    out += padded(readable(line), 12);
    for (const uint64_t column : columns) {
      double value = -1;
      for (const json& r : m["rows"])
        if (in_figure(r, figure) && r[x] == column && r[y] == line) value = value_of(r, figure);
      out += padded(value < 0 ? "" : value_text(value), 7);
    }
    out += "\n";
  }
  return out + "\n";
}

}  // namespace

std::string sweep_table(const json& m) {
  std::string out;
  for (const json& figure : m["figures"]) out += matrix(m, figure);
  std::vector<std::pair<double, std::string>> slow;
  size_t measured = 0;
  for (const json& r : m["rows"]) {
    if (!r.contains("ratio")) continue;
    measured++;
    if (r["ratio"].get<double>() < 0.95)
      slow.emplace_back(r["ratio"], r["pattern"].get<std::string>() + (r.value("noisy", false) ? " ~" : ""));
  }
  std::sort(slow.begin(), slow.end());
  if (m["geomean"].is_number())
    out += "plain MPI / Tasuki: geometric mean " + value_text(m["geomean"]) + "; " +
           std::to_string(slow.size()) + " of " + std::to_string(measured) +
           " rows are slower than plain MPI by more than 5 %\n";
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < std::min(slow.size(), kShown); i++)
    out += "  " + value_text(slow[i].first) + "  " + slow[i].second + "\n";
  if (!slow.empty()) out += "  (~: the rounds of a job differ by more than half)\n";
  return out;
}

std::string csv(const json& m) {
  std::vector<std::string> columns;
  std::set<std::string> seen;
  std::vector<json> rows;
  for (const char* part : {"rows", "contiguous"})
    for (const json& r : m[part]) {
      json flat;
      for (const auto& [key, value] : r.items()) {
        if (value.is_object())
          for (const auto& [inner, v] : value.items()) flat[key + "." + inner] = v;
        else if (value.is_array() && value.size() == 2)
          flat[key + ".low"] = value[0], flat[key + ".high"] = value[1];
        else
          flat[key] = value;
      }
      rows.push_back(flat);
    }
  // What tells a row from others comes first.
  for (const char* key : {"operation", "pattern", "bytes"}) {
    for (const json& r : rows)
      if (r.contains(key) && seen.insert(key).second) columns.push_back(key);
  }
  for (const json& r : rows)
    for (const auto& [key, value] : r.items())
      if (seen.insert(key).second) columns.push_back(key);
  std::string out;
  for (size_t i = 0; i < columns.size(); i++) out += (i ? "," : "") + columns[i];
  out += "\n";
  for (const json& r : rows) {
    for (size_t i = 0; i < columns.size(); i++) {
      std::string field =
          r.contains(columns[i]) && !r[columns[i]].is_null()
              ? r[columns[i]].is_string() ? r[columns[i]].get<std::string>() : r[columns[i]].dump()
              : "";
      if (field.find_first_of(",\"\n") != std::string::npos) {
        for (size_t at = 0; (at = field.find('"', at)) != std::string::npos; at += 2) field.insert(at, "\"");
        field = "\"" + field + "\"";
      }
      out += (i ? "," : "") + field;
    }
    out += "\n";
  }
  return out;
}

}  // namespace tasuki::bench
