#include "cluster/api/report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "base/bytes.h"
#include "os/files/output_file.h"
#include "os/files/streams.h"
#include "report/json.h"

namespace tasuki::cluster {
namespace {

using report::Json;
using report::quoted;

template <typename... Args>
std::string text(const char* format, Args... args) {
  char line[512];
  const int n = snprintf(line, sizeof line, format, args...);
  return std::string(line, static_cast<size_t>(n < 0 ? 0 : n < 511 ? n : 511));
}

std::string mib(uint64_t bytes) {
  return bytes_text(bytes, BytesStyle::mebibytes);
}

}  // namespace

std::string report_text(const Report& r) {
  const pager::Stats& s = r.stats;
  std::string t =
      text("tasuki: cluster memory of %s: %.3f s, %s, %s, protocol %s, pages %s\n", r.program.c_str(),
           r.seconds, r.mpi.c_str(), r.mechanism.c_str(), r.protocol.c_str(), r.page_size.c_str());
  t += text("tasuki:   memory    %s local, %s on %zu servers%s; allocated %s, resident %s\n",
            mib(s.local_bytes).c_str(), mib(s.server_bytes).c_str(), r.servers.size(),
            r.disk.directory.empty() ? "" : " and a disk", mib(s.allocated_bytes).c_str(),
            mib(s.resident_bytes).c_str());
  if (s.beside_bytes > 0)
    t += text("tasuki:   beside    %s were local that are not cluster memory\n", mib(s.beside_bytes).c_str());
  t += text("tasuki:   faults    %" PRIu64 " (first touches %" PRIu64 ", rescues %" PRIu64
            ", first writes %" PRIu64 ")\n",
            s.faults, s.first_touches, s.rescues, s.write_faults);
  t += text("tasuki:   swaps in  %" PRIu64 ", %s (ahead of need %s), %.3f s\n", s.swaps_in,
            mib(s.bytes_in).c_str(), mib(s.prefetched).c_str(), s.in_seconds);
  t += text("tasuki:   swaps out %" PRIu64 ", %s (without transfer: %" PRIu64 "), %.3f s\n", s.swaps_out,
            mib(s.bytes_out).c_str(), s.drops, s.out_seconds);
  t += text("tasuki:   waiting   %.3f s for the previous swap, %.3f s for the page; mapping %.3f s\n",
            s.wait_previous, s.wait_page, s.map_seconds);
  for (const pager::ThreadStats& thread : r.threads)
    t += text("tasuki:   thread %d: %" PRIu64 " faults, %.3f s waiting\n", thread.tid, thread.faults,
              thread.wait_seconds);
  for (const Report::Server& server : r.servers)
    t += text("tasuki:   %s: %s lent, by %s, %s came from it, %s went there\n", server.name.c_str(),
              mib(server.bytes).c_str(), server.window ? "window" : "messages", mib(server.bytes_in).c_str(),
              mib(server.bytes_out).c_str());
  if (r.cache.used && r.cache.bytes + r.cache.bytes_uniform > 0) {
    const double asked = static_cast<double>(std::max<uint64_t>(r.cache.hits + r.cache.misses, 1));
    t += text(
        "tasuki:   compressed: %s in at most %s of %s, %s of one byte only, %s went on; %.0f %% came "
        "back from here\n",
        mib(r.cache.bytes_compressed).c_str(), mib(r.cache.most_bytes).c_str(), mib(r.cache.bytes).c_str(),
        mib(r.cache.bytes_uniform).c_str(), mib(r.cache.bytes_out).c_str(),
        100 * static_cast<double>(r.cache.hits) / asked);
  }
  if (!r.disk.directory.empty())
    t += text("tasuki:   a file in %s: room for %s, %s came from it, %s went there\n",
              r.disk.directory.c_str(), mib(r.disk.bytes).c_str(), mib(r.disk.bytes_in).c_str(),
              mib(r.disk.bytes_out).c_str());
  return t;
}

std::string report_json(const Report& r) {
  const pager::Stats& s = r.stats;
  Json memory('{'), faults('{'), swaps('{'), seconds('{'), threads('['), servers('['), all('{');
  memory.add("page_bytes", s.page_bytes);
  memory.add("local_bytes", s.local_bytes);
  memory.add("server_bytes", s.server_bytes);
  memory.add("allocated_bytes", s.allocated_bytes);
  memory.add("resident_bytes", s.resident_bytes);
  memory.add("beside_bytes", s.beside_bytes);
  faults.add("all", s.faults);
  faults.add("first_touches", s.first_touches);
  faults.add("rescues", s.rescues);
  faults.add("write_faults", s.write_faults);
  swaps.add("in", s.swaps_in);
  swaps.add("bytes_in", s.bytes_in);
  swaps.add("out", s.swaps_out);
  swaps.add("bytes_out", s.bytes_out);
  swaps.add("drops", s.drops);
  swaps.add("prefetched_bytes", s.prefetched);
  seconds.add("wait_previous", s.wait_previous);
  seconds.add("wait_page", s.wait_page);
  seconds.add("in", s.in_seconds);
  seconds.add("out", s.out_seconds);
  seconds.add("map", s.map_seconds);
  for (const pager::ThreadStats& t : r.threads) {
    Json thread('{');
    thread.add("tid", t.tid);
    thread.add("faults", t.faults);
    thread.add("wait_seconds", t.wait_seconds);
    threads.add(thread);
  }
  for (const Report::Server& lender : r.servers) {
    Json server('{');
    server.add("name", quoted(lender.name));
    server.add("bytes", lender.bytes);
    server.add("window", lender.window);
    server.add("bytes_in", lender.bytes_in);
    server.add("bytes_out", lender.bytes_out);
    servers.add(server);
  }
  all.add("format", quoted("tasuki dlm stats 1"));
  all.add("program", quoted(r.program));
  all.add("mpi", quoted(r.mpi));
  all.add("mechanism", quoted(r.mechanism));
  all.add("protocol", quoted(r.protocol));
  all.add("page_size", quoted(r.page_size));
  all.add("seconds", r.seconds);
  all.add("memory", memory);
  all.add("faults", faults);
  all.add("swaps", swaps);
  all.add("seconds_of", seconds);
  all.add("threads", threads);
  all.add("servers", servers);
  if (!r.disk.directory.empty()) {
    Json disk('{');
    disk.add("directory", quoted(r.disk.directory));
    disk.add("bytes", r.disk.bytes);
    disk.add("bytes_in", r.disk.bytes_in);
    disk.add("bytes_out", r.disk.bytes_out);
    all.add("disk", disk);
  }
  if (r.cache.used) {
    Json cache('{');
    cache.add("bytes", r.cache.bytes);
    cache.add("most_bytes", r.cache.most_bytes);
    cache.add("bytes_compressed", r.cache.bytes_compressed);
    cache.add("bytes_uniform", r.cache.bytes_uniform);
    cache.add("bytes_out", r.cache.bytes_out);
    cache.add("hits", r.cache.hits);
    cache.add("misses", r.cache.misses);
    all.add("cache", cache);
  }
  return all.done() + "\n";
}

bool is_page(const std::string& file) {
  return file.size() > 5 && file.compare(file.size() - 5, 5, ".html") == 0;
}

Status write_plain_report(const Report& report, const std::string& file) {
  if (file.empty()) {
    // Not through stderr: an exit handler of the program may have closed it.
    os::write_errors(report_text(report));
    return {};
  }
  return os::write_output("--stats", file, report_json(report));
}

}  // namespace tasuki::cluster
