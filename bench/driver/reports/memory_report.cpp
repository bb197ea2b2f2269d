// `tasuki bench memory` as text.
#include <algorithm>
#include <cstdio>

#include "base/bytes.h"
#include "bench/driver/benchmarks/memory.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/figures/text.h"

namespace tasuki::bench {
namespace {

using nlohmann::json;

// About three digits; "-" for what there is not.
std::string digits(const json& value) {
  if (!value.is_number()) return "-";
  const double v = value.get<double>();
  char text[32];
  snprintf(text, sizeof text,
           v == 0      ? "0"
           : v < 0.001 ? "%.2g"
           : v < 1     ? "%.3f"
           : v < 100   ? "%.2f"
                       : "%.0f",
           v);
  return text;
}

json at(const json& row, const char* key) {
  return row.value(key, json());
}
json counter(const json& row, const char* key) {
  return row.contains("counters") ? row["counters"].value(key, json()) : json();
}

std::string kernel_name(const json& r) {
  const std::string part = r["part"], label = r.value("label", "");
  std::string name =
      r["kernel"].get<std::string>() + (part.empty() ? "" : "." + part) + " " + r["size"].get<std::string>();
  if (!label.empty()) name += ", " + label;
  if (r["threads"] != 1) name += ", " + std::to_string(r["threads"].get<int>()) + " threads";
  return name;
}

std::string page_text(const json& page) {
  return page.is_number()   ? bytes_text(page.get<uint64_t>(), BytesStyle::compact)
         : page.is_string() ? page.get<std::string>()
                            : "";
}

std::string verdict(const json& r) {
  return !r["finished"].get<bool>() ? "not finished" : r["verified"].get<bool>() ? "yes" : "NO";
}

// The protocol only where it is not the default; a table of columns that rarely say anything helps nobody.
std::string how(const json& r) {
  std::string text;
  if (r["kind"] == "cluster") {
    text = r["protocol"].get<std::string>();
    if (r["servers"] != 1) text += ", " + servers_text(r["servers"].get<int>());
    if (r["where"] != "node") text += ", " + r["where"].get<std::string>();
    text += ", " + r["mpi"].get<std::string>();
    if (r["settings"] != "") text += ", " + r["settings"].get<std::string>();
  }
  return text;
}

void append_row(std::string* out, const json& r) {
  const json seconds = at(r, "mean_seconds"), page = counter(r, "wait_page"),
             previous = counter(r, "wait_previous");
  std::string waiting = "-";
  if (seconds.is_number() && page.is_number()) {
    char text[32];
    snprintf(text, sizeof text, "%.0f %%",
             100 * (page.get<double>() + previous.get<double>()) / seconds.get<double>() /
                 r["threads"].get<double>());
    waiting = text;
  }
  char local[32] = "";
  if (r["ratio"].is_number()) snprintf(local, sizeof local, "%g %%", r["ratio"].get<double>());
  const json faults = r.contains("faults") ? r["faults"]["major"] : json();
  const bool cluster = r["kind"] == "cluster";
  append(out, "  %-9s %6s %6s %9s %8s %7s %8s %8s %8s %6s  %-12s %s\n", r["kind"].get<std::string>().c_str(),
         local, page_text(at(r, "page")).c_str(), digits(at(r, "seconds")).c_str(),
         digits(at(r, "relative")).c_str(), digits(at(r, "gbps")).c_str(),
         digits(cluster ? counter(r, "swaps_in") : json()).c_str(),
         digits(cluster ? counter(r, "swaps_out") : json()).c_str(),
         cluster ? waiting.c_str() : digits(r["kind"] == "plain" ? json() : faults).c_str(),
         digits(at(r, "share")).c_str(), verdict(r).c_str(), how(r).c_str());
}

void append_transport(std::string* out, const json& m) {
  for (const json& t : m["transport"]) {
    append(out, "Moving pages without a pager, GB/s: %s, %s\n  %8s %8s %8s %8s %8s %8s\n",
           t["mpi"].get<std::string>().c_str(), t["where"].get<std::string>().c_str(), "page", "fetch",
           "fetch 4", "swap", "window", "copy");
    const auto rate = [](const json& v) {
      return digits(v.is_number() ? json(v.get<double>() / 1e9) : json());
    };
    for (const json& s : t["sizes"])
      append(out, "  %8s %8s %8s %8s %8s %8s\n",
             bytes_text(s["page"].get<uint64_t>(), BytesStyle::compact).c_str(), rate(s["fetch"]).c_str(),
             rate(s["fetch4"]).c_str(), rate(s["swap"]).c_str(), rate(s["window"]).c_str(),
             rate(s["copy"]).c_str());
  }
}

// Cluster memory against what else there is, wherever both were measured.
void append_gains(std::string* out, const json& m) {
  std::string lines;
  for (const json& r : m["rows"]) {
    if (r["kind"] != "cluster" || r["page"] != "auto" || r["protocol"] != "ahead" || r["settings"] != "" ||
        !r.contains("seconds"))
      continue;
    std::string others;
    for (const json& p : m["rows"]) {
      if (p["kind"] == "cluster" || p["kind"] == "plain" || p["ratio"] != r["ratio"] ||
          kernel_name(p) != kernel_name(r))
        continue;
      others += (others.empty() ? "" : ", ") + p["kind"].get<std::string>() + " ";
      others += p.contains("seconds") ? digits(p["seconds"].get<double>() / r["seconds"].get<double>()) : "-";
    }
    if (others.empty()) continue;
    append(&lines, "  %s, %g %% local, %s: %s GB/s; times as fast as: ", kernel_name(r).c_str(),
           r["ratio"].get<double>(), how(r).c_str(), digits(r["gbps"]).c_str());
    lines += others + "\n";
  }
  if (!lines.empty()) *out += "Cluster memory beside what else there is:\n" + lines + "\n";
}

}  // namespace

std::string memory_table(const json& m) {
  std::string out = "A repetition's seconds, median";
  append(&out, " of %d round(s); relative: to plain malloc.\n\n", m["settings"]["rounds"].get<int>());
  std::string kernel;
  for (const json& r : m["rows"]) {
    if (const std::string name = kernel_name(r); name != kernel) {
      if (!kernel.empty()) out += "\n";
      kernel = name;
      out += name + ": " + bytes_text(r["bytes"].get<uint64_t>(), BytesStyle::rounded);
      if (r["kind"] == "plain" && at(r, "mops").is_number() && r["mops"] > 0)
        append(&out, ", %s M%s with plain malloc", digits(r["mops"]).c_str(),
               r["kernel"].get<std::string>().rfind("random", 0) == 0 ? " accesses/s" : "FLOPS");
      append(&out, "\n  %-9s %6s %6s %9s %8s %7s %8s %8s %8s %6s  %-12s %s\n", "memory", "local", "page",
             "seconds", "relative", "GB/s", "swaps in", "out", "waiting", "share", "verified", "");
    }
    append_row(&out, r);
  }
  out +=
      "\nswaps: pages per repetition. waiting: of the time, for pages (cluster); major faults (others). "
      "share: bytes"
      "\nmoved in and out a second, over what the transport's `fetch` moves in pages of that size.\n\n";
  append_gains(&out, m);
  append_transport(&out, m);
  if (m.contains("paper")) out += "\n" + m["paper"]["table"].get<std::string>();
  return out;
}

std::string memory_comparison(const json& older, const json& newer) {
  std::string out;
  const char* const format = "%-78s %9s %9s %7s %9s\n";
  append(&out, format, "", "old s", "new s", "old/new", "relative");
  std::string missing;
  std::vector<double> gains, relatives;
  const auto find = [](const json& m, const json& wanted) -> const json* {
    for (const json& r : m["rows"])
      if (r["pattern"] == wanted["pattern"] && r["bytes"] == wanted["bytes"]) return &r;
    return nullptr;
  };
  for (const json& b : newer["rows"]) {
    const json* a = find(older, b);
    const std::string name = b["pattern"];
    if (a == nullptr) {
      missing += "only in new: " + name + "\n";
      continue;
    }
    const json old_s = at(*a, "seconds"), new_s = at(b, "seconds");
    json gain, relative;
    if (old_s.is_number() && new_s.is_number()) gain = old_s.get<double>() / new_s.get<double>();
    if (at(*a, "relative").is_number() && at(b, "relative").is_number() && b["relative"] > 0)
      relative = (*a)["relative"].get<double>() / b["relative"].get<double>();
    append(&out, format, name.c_str(), digits(old_s).c_str(), digits(new_s).c_str(), digits(gain).c_str(),
           digits(relative).c_str());
    if (b["kind"] != "cluster" || !gain.is_number() || !relative.is_number()) continue;
    gains.push_back(gain);
    relatives.push_back(relative);
  }
  for (const json& a : older["rows"])
    if (find(newer, a) == nullptr) missing += "only in old: " + a["pattern"].get<std::string>() + "\n";
  if (!gains.empty())
    append(&out, format, "geometric mean of cluster memory", "", "", digits(geometric_mean(gains)).c_str(),
           digits(geometric_mean(relatives)).c_str());
  return out +
         "\nold/new: above 1 is faster now. relative: the same of the times relative to plain malloc.\n" +
         missing;
}

}  // namespace tasuki::bench
