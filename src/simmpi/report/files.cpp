// The directory that a report fills, and its tables.
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "os/files/output_file.h"
#include "os/files/text_file.h"
#include "simmpi/report/data.h"
#include "simmpi/report/page.h"
#include "simmpi/report/trace.h"

namespace tasuki::simmpi {
namespace {

using netsim::Results;

// Quoted when it must be: RFC 4180.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

void links_table(const SimulationReport& report, std::ostream& out) {
  const Results& r = *report.results;
  out << "class,from,to,packets,bytes,busy_s,busy_ratio\n";
  for (const LinkName& l : links_by_class(*report.topology)) {
    const netsim::LinkTotals& t = r.links[l.index];
    const double busy = seconds(t.busy), all = seconds(r.end);
    out << field(report.topology->classes()[l.link_class]) << ',' << l.from << ',' << l.to << ',' << t.packets
        << ',' << t.bytes << ',' << busy << ',' << (all == 0 ? 0 : busy / all) << '\n';
  }
}

void throughput_table(const SimulationReport& report, std::ostream& out) {
  const Results& r = *report.results;
  const auto use = link_use(r), buffers = buffer_use(r);
  out << "begin_s,end_s";
  for (const Series& s : use) out << ',' << field(s.name + " bytes/s per link");
  for (const Series& s : buffers) out << ',' << field(s.name + " bytes per buffer");
  out << '\n';
  for (uint32_t b = 0; b < bins_of(r); b++) {
    const netsim::Time begin = netsim::Time{b} * r.bin_width;
    out << seconds(begin) << ',' << seconds(begin + bin_length(r, b));
    for (const Series& s : use) out << ',' << s.values[b] * report.machine->link_bandwidth;
    for (const Series& s : buffers) out << ',' << s.values[b];
    out << '\n';
  }
}

void latency_table(const SimulationReport& report, std::ostream& out) {
  const Results& r = *report.results;
  out << "hops,packets,mean_s,min_s,p50_s,p90_s,p99_s,max_s\n";
  for (size_t h = 0; h < r.latency.size(); h++) {
    const netsim::Histogram& l = r.latency[h];
    if (l.count() == 0) continue;
    out << h << ',' << l.count() << ',' << l.mean() * 1e-12 << ',' << seconds(l.least());
    for (const double share : {.5, .9, .99}) out << ',' << seconds(l.quantile(share));
    out << ',' << seconds(l.most()) << '\n';
  }
}

void ranks_table(const SimulationReport& report, std::ostream& out) {
  out << "rank,node,calls,messages,bytes,in_mpi_s,computing_s,finished_s\n";
  const ProgramLog& log = *report.log;
  for (size_t i = 0; i < log.ranks.size(); i++) {
    const RankLog& r = log.ranks[i];
    out << i << ',' << (i < log.node_of.size() ? log.node_of[i] : static_cast<uint32_t>(i)) << ','
        << r.call_count << ',' << r.message_count << ',' << r.message_bytes << ',' << seconds(r.in_mpi) << ','
        << seconds(r.computing) << ',' << seconds(r.finished) << '\n';
  }
}

// Calls that never returned and messages that never came have an empty time.
void end_time(uint64_t t, std::ostream& out) {
  if (t != 0) out << seconds(t);
}

void calls_table(const SimulationReport& report, std::ostream& out) {
  out << "rank,call,begin_s,end_s,peer,bytes\n";
  for (size_t i = 0; i < report.log->ranks.size(); i++)
    for (const CallRecord& c : report.log->ranks[i].calls) {
      out << i << ',' << c.name << ',' << seconds(c.begin) << ',';
      end_time(c.end, out);
      out << ',';
      if (c.peer == kAnyPeer)
        out << "any";
      else if (c.peer >= 0)
        out << c.peer;
      out << ',' << c.bytes << '\n';
    }
}

void messages_table(const SimulationReport& report, std::ostream& out) {
  out << "from,to,bytes,tag,requested_s,sent_s,delivered_s\n";
  for (const RankLog& r : report.log->ranks)
    for (const MessageRecord& m : r.messages) {
      out << m.from << ',' << m.to << ',' << m.bytes << ',' << m.tag << ',' << seconds(m.requested) << ','
          << seconds(m.sent) << ',';
      end_time(m.delivered, out);
      out << '\n';
    }
}

// As a stream: no table of a large run is in memory as a whole.
template <typename Write>
Status write_file(const std::string& path, Write write) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (out) {
    out.precision(15);
    write(out);
    out.flush();
  }
  if (out) return Status();
  return os::cannot_write(path, errno == 0 ? EIO : errno);
}

}  // namespace

Status prepare_report(const std::string& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (failed)
    return Status::error(failed.value(),
                         "cannot create the directory " + directory + ": " + failed.message());
  return os::check_output("--out", directory + "/report.html");
}

Status write_report(const SimulationReport& report, const std::string& directory) {
  if (Status status = prepare_report(directory); !status.ok()) return status;
  using Writer = void (*)(const SimulationReport&, std::ostream&);
  struct File {
    const char* name;
    bool of_program;
    Writer write;
  };
  const File files[] = {
      {"results.json", false,
       [](const SimulationReport& r, std::ostream& out) { out << to_json(r) << '\n'; }},
      {"links.csv", false, links_table},
      {"throughput.csv", false, throughput_table},
      {"latency.csv", false, latency_table},
      {"ranks.csv", true, ranks_table},
      {"calls.csv", true, calls_table},
      {"messages.csv", true, messages_table},
      {"trace.perfetto-trace", false, write_trace},
      {"report.html", false, [](const SimulationReport& r, std::ostream& out) { out << page(r); }},
  };
  for (const File& f : files) {
    if (f.of_program && report.log == nullptr) continue;
    const Status s = write_file(directory + "/" + f.name, [&](std::ostream& out) { f.write(report, out); });
    if (!s.ok()) return s;
  }
  return Status();
}

}  // namespace tasuki::simmpi
