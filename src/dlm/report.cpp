#include "dlm/report.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "os/output_file.h"

namespace tasuki::dlm {
namespace {

using nlohmann::ordered_json;

template <typename... Args>
std::string text(const char* format, Args... args) {
  char line[512];
  const int n = snprintf(line, sizeof line, format, args...);
  return std::string(line, static_cast<size_t>(n < 0 ? 0 : n < 511 ? n : 511));
}

double mib(uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

ordered_json as_json(const Report& r) {
  const pager::Stats& s = r.stats;
  ordered_json j;
  j["format"] = "tasuki dlm stats 1";
  j["program"] = r.program;
  j["mpi"] = r.mpi;
  j["mechanism"] = r.mechanism;
  j["protocol"] = r.protocol;
  j["page_size"] = r.page_size;
  j["seconds"] = r.seconds;
  j["memory"] = {{"page_bytes", s.page_bytes},
                 {"local_bytes", s.local_bytes},
                 {"server_bytes", s.server_bytes},
                 {"allocated_bytes", s.allocated_bytes},
                 {"resident_bytes", s.resident_bytes}};
  j["faults"] = {{"all", s.faults},
                 {"first_touches", s.first_touches},
                 {"rescues", s.rescues},
                 {"write_faults", s.write_faults}};
  j["swaps"] = {{"in", s.swaps_in},         {"bytes_in", s.bytes_in}, {"out", s.swaps_out},
                {"bytes_out", s.bytes_out}, {"drops", s.drops},       {"prefetched_bytes", s.prefetched}};
  j["seconds_of"] = {{"wait_previous", s.wait_previous},
                     {"wait_page", s.wait_page},
                     {"in", s.in_seconds},
                     {"out", s.out_seconds},
                     {"map", s.map_seconds}};
  j["threads"] = ordered_json::array();
  for (const pager::ThreadStats& t : r.threads)
    j["threads"].push_back({{"tid", t.tid}, {"faults", t.faults}, {"wait_seconds", t.wait_seconds}});
  j["servers"] = ordered_json::array();
  for (const Report::Server& server : r.servers)
    j["servers"].push_back({{"name", server.name},
                            {"bytes", server.bytes},
                            {"window", server.window},
                            {"bytes_in", server.bytes_in},
                            {"bytes_out", server.bytes_out}});
  return j;
}

std::string escaped(const std::string& plain) {
  std::string out;
  for (const char c : plain) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

struct Part {
  const char* name;
  const char* colour;
  double seconds;
};

// One bar of the chart: parts end to end, then a legend with their times.
std::string bar(const char* title, const std::vector<Part>& parts, double scale) {
  std::string svg = text("<h2>%s</h2><svg viewBox='0 0 720 34' role='img'>", title);
  double x = 0;
  for (const Part& part : parts) {
    const double width = scale > 0 ? part.seconds / scale * 720 : 0;
    svg += text("<rect x='%.2f' y='2' width='%.2f' height='30' fill='%s'><title>%s: %.4f s</title></rect>", x,
                width, part.colour, part.name, part.seconds);
    x += width;
  }
  svg += "</svg><ul>";
  for (const Part& part : parts)
    svg += text("<li><i style='background:%s'></i>%s <b>%.4f s</b> (%.1f %%)</li>", part.colour, part.name,
                part.seconds, scale > 0 ? 100 * part.seconds / scale : 0.0);
  return svg + "</ul>";
}

std::string row(const std::string& name, const std::string& value) {
  return "<tr><th>" + escaped(name) + "</th><td>" + escaped(value) + "</td></tr>";
}

constexpr char kStyle[] =
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:760px;padding:0 1rem;color:#222;"
    "background:#fff}h1{font-size:1.4rem}h2{font-size:1.05rem;margin:1.6rem 0 .3rem}svg{width:100%;"
    "background:#eee}ul{list-style:none;padding:0;margin:.3rem 0;display:flex;flex-wrap:wrap;gap:.2rem "
    "1.4rem}"
    "i{display:inline-block;width:.8em;height:.8em;margin-right:.4em}table{border-collapse:collapse;width:"
    "100%}"
    "th{text-align:left;font-weight:normal}th,td{padding:.15rem .6rem .15rem 0;border-bottom:1px solid #ddd}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}svg{background:#333}"
    "th,td{border-color:#444}}";

}  // namespace

std::string report_text(const Report& r) {
  const pager::Stats& s = r.stats;
  std::string t =
      text("tasuki: cluster memory of %s: %.3f s, %s, %s, protocol %s, pages %s\n", r.program.c_str(),
           r.seconds, r.mpi.c_str(), r.mechanism.c_str(), r.protocol.c_str(), r.page_size.c_str());
  t += text(
      "tasuki:   memory    %.1f MiB local, %.1f MiB on %zu servers; allocated %.1f MiB, resident %.1f MiB\n",
      mib(s.local_bytes), mib(s.server_bytes), r.servers.size(), mib(s.allocated_bytes),
      mib(s.resident_bytes));
  t += text("tasuki:   faults    %" PRIu64 " (first touches %" PRIu64 ", rescues %" PRIu64
            ", first writes %" PRIu64 ")\n",
            s.faults, s.first_touches, s.rescues, s.write_faults);
  t += text("tasuki:   swaps in  %" PRIu64 ", %.1f MiB (ahead of need %.1f MiB), %.3f s\n", s.swaps_in,
            mib(s.bytes_in), mib(s.prefetched), s.in_seconds);
  t += text("tasuki:   swaps out %" PRIu64 ", %.1f MiB (without transfer: %" PRIu64 "), %.3f s\n",
            s.swaps_out, mib(s.bytes_out), s.drops, s.out_seconds);
  t += text("tasuki:   waiting   %.3f s for the previous swap, %.3f s for the page; mapping %.3f s\n",
            s.wait_previous, s.wait_page, s.map_seconds);
  for (const pager::ThreadStats& thread : r.threads)
    t += text("tasuki:   thread %d: %" PRIu64 " faults, %.3f s waiting\n", thread.tid, thread.faults,
              thread.wait_seconds);
  for (const Report::Server& server : r.servers)
    t += text("tasuki:   %s: %.1f MiB lent, by %s, %.1f MiB came from it, %.1f MiB went there\n",
              server.name.c_str(), mib(server.bytes), server.window ? "window" : "messages",
              mib(server.bytes_in), mib(server.bytes_out));
  return t;
}

std::string report_json(const Report& report) {
  return as_json(report).dump(2) + "\n";
}

std::string report_page(const Report& r) {
  const pager::Stats& s = r.stats;
  std::string page =
      "<!doctype html><html lang='en'><meta charset='utf-8'><title>Cluster memory</title><style>";
  page += kStyle;
  page += "</style><h1>Cluster memory of " + escaped(r.program) + "</h1><p>" + escaped(r.mpi) + "; " +
          escaped(r.mechanism) + "; protocol " + escaped(r.protocol) + "; pages " + escaped(r.page_size) +
          "</p>";
  // The paper's two bars: what the program's threads wait for, and what the pager's thread does.
  double waited = 0;
  for (const pager::ThreadStats& t : r.threads) waited += t.wait_seconds;
  waited = waited > s.wait_previous + s.wait_page ? waited : s.wait_previous + s.wait_page;
  const double all = r.seconds * static_cast<double>(r.threads.empty() ? 1 : r.threads.size());
  page += bar("The program's threads",
              {{"waiting for the previous swap", "#9d8ec7", s.wait_previous},
               {"waiting for the page", "#e8c547", s.wait_page},
               {"other waiting", "#c0c0c0", waited - s.wait_previous - s.wait_page},
               {"running", "#6aa84f", all > waited ? all - waited : 0}},
              all > waited ? all : waited);
  page += bar("The pager: time of its steps (transfers overlap)",
              {{"pages coming in", "#e8c547", s.in_seconds},
               {"pages going out", "#d9822b", s.out_seconds},
               {"mapping", "#4a90c2", s.map_seconds}},
              s.in_seconds + s.out_seconds + s.map_seconds);
  page += "<h2>Counters</h2><table>";
  page += row("time", text("%.3f s", r.seconds));
  page += row("local memory", text("%.1f MiB", mib(s.local_bytes)));
  page += row("lent by servers", text("%.1f MiB", mib(s.server_bytes)));
  page += row("faults", std::to_string(s.faults));
  page += row("first touches (nothing travels)", std::to_string(s.first_touches));
  page += row("rescued while leaving", std::to_string(s.rescues));
  page += row("first writes to a page the server has", std::to_string(s.write_faults));
  page += row("swaps in", text("%" PRIu64 ", %.1f MiB", s.swaps_in, mib(s.bytes_in)));
  page += row("fetched ahead of need", text("%.1f MiB", mib(s.prefetched)));
  page += row("swaps out", text("%" PRIu64 ", %.1f MiB", s.swaps_out, mib(s.bytes_out)));
  page += row("left without transfer", std::to_string(s.drops));
  page += "</table><h2>Threads</h2><table>";
  for (const pager::ThreadStats& t : r.threads)
    page +=
        row(text("thread %d", t.tid), text("%" PRIu64 " faults, %.3f s waiting", t.faults, t.wait_seconds));
  page += "</table><h2>Servers</h2><table>";
  for (const Report::Server& server : r.servers)
    page += row(server.name,
                text("%.1f MiB by %s; %.1f MiB in, %.1f MiB out", mib(server.bytes),
                     server.window ? "window" : "messages", mib(server.bytes_in), mib(server.bytes_out)));
  return page + "</table></html>\n";
}

Status write_report(const Report& report, const std::string& file) {
  if (file.empty()) {
    // Not through stderr: an exit handler of the program may have closed it.
    const std::string content = report_text(report);
    for (size_t at = 0; at < content.size();) {
      const ssize_t n = write(STDERR_FILENO, content.data() + at, content.size() - at);
      if (n < 0 && errno != EINTR) break;
      at += n > 0 ? static_cast<size_t>(n) : 0;
    }
    return {};
  }
  const bool page = file.size() > 5 && file.compare(file.size() - 5, 5, ".html") == 0;
  const std::string content = page ? report_page(report) : report_json(report);
  return os::write_output("--stats", file, content);
}

}  // namespace tasuki::dlm
