// Tracks: a process "ranks" with one thread for each rank (its calls of MPI as slices, its messages as
// flows); a process "network" with a counter for each class of links and each virtual channel, and the
// schedule's sequences. Times are in nanoseconds, the unit of a trace; simulated picoseconds are cut.
#include "simmpi/report/trace.h"

#include <algorithm>
#include <map>

#include "simmpi/report/data.h"
#include "simmpi/report/protobuf.h"

namespace tasuki::simmpi {
namespace {

// Field numbers of perfetto_trace.proto, by message.
namespace trace {
enum { packet = 1 };
}
namespace packet {
enum {
  timestamp = 8,
  sequence = 10,
  track_event = 11,
  interned_data = 12,
  flags = 13,
  track_descriptor = 60
};
constexpr uint64_t kClearsState = 1, kNeedsState = 2;
}  // namespace packet
namespace event {
enum {
  annotations = 4,
  type = 9,
  name_iid = 10,
  track = 11,
  name = 23,
  counter = 44,
  flow = 47,
  flow_end = 48
};
constexpr uint64_t kBegin = 1, kEnd = 2, kCounter = 4;
}  // namespace event
namespace track {
enum { uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8 };
}
namespace process {
enum { pid = 1, name = 6 };
}
namespace thread {
enum { pid = 1, tid = 2, name = 5 };
}
namespace counter {
enum { unit_name = 6 };
}
namespace annotation {
enum { name_iid = 1, uint_value = 3, int_value = 4, name = 10, text = 6 };
}
namespace interned {
enum { event_names = 2, annotation_names = 3, iid = 1, name = 2 };
}

constexpr uint64_t kSequence = 1;  // of packets; any number but 0
constexpr uint64_t kRanks = 1, kNetwork = 2;
constexpr uint64_t kRankTracks = 1u << 24, kCounterTracks = 1u << 25, kSequenceTracks = 1u << 26;

uint64_t ns(uint64_t picoseconds) {
  return picoseconds / 1000;
}

class TraceWriter {
 public:
  TraceWriter(const SimulationReport& report, std::ostream& out) : report_(report), out_(out) {}

  void write() {
    begin();
    if (report_.log != nullptr) ranks();
    counters();
    if (report_.sequences != nullptr) sequences();
  }

 private:
  void put(Protobuf& p, uint64_t flags = packet::kNeedsState) {
    p.number(packet::sequence, kSequence).number(packet::flags, flags);
    const Protobuf whole = Protobuf().message(trace::packet, p);
    out_ << whole.bytes();
  }
  void put_track(const Protobuf& descriptor) {
    Protobuf p;
    put(p.message(packet::track_descriptor, descriptor));
  }
  void put_event(uint64_t time_ps, const Protobuf& e) {
    Protobuf p;
    put(p.number(packet::timestamp, ns(time_ps)).message(packet::track_event, e));
  }
  static Protobuf new_event(uint64_t type, uint64_t track_uuid) {
    Protobuf e;
    e.number(event::type, type).number(event::track, track_uuid);
    return e;
  }

  // Names that many events share are written once, here.
  void begin() {
    Protobuf names;
    if (report_.log != nullptr)
      for (const RankLog& r : report_.log->ranks)
        for (const CallRecord& c : r.calls) names_.try_emplace(c.name, 0);
    uint64_t iid = 0;
    for (auto& [name, number] : names_) {
      number = ++iid;
      names.message(interned::event_names,
                    Protobuf().number(interned::iid, number).text(interned::name, name));
    }
    for (const auto& [number, name] : {std::pair{kPeer, "peer"}, std::pair{kBytes, "bytes"}})
      names.message(interned::annotation_names,
                    Protobuf().number(interned::iid, number).text(interned::name, name));
    Protobuf p;
    put(p.message(packet::interned_data, names), packet::kClearsState);
    put_process(kRanks, "ranks", report_.log != nullptr);
    put_process(kNetwork, "network", true);
  }
  void put_process(uint64_t uuid, const char* name, bool wanted) {
    if (!wanted) return;
    Protobuf d;
    d.number(track::uuid, uuid);
    put_track(d.message(track::process, Protobuf().number(process::pid, uuid).text(process::name, name)));
  }

  void ranks() {
    const auto& all = report_.log->ranks;
    // A flow needs slices at both its ends: the call in which the message was requested, and the first call
    // of the receiver that was over when the data had come.
    struct End {
      uint64_t flow;
      size_t call;
    };
    std::vector<std::vector<End>> begins(all.size()), ends(all.size());
    uint64_t flow = 0;
    for (size_t from = 0; from < all.size(); from++)
      for (const MessageRecord& m : all[from].messages) {
        if (m.delivered == 0 || m.to >= all.size() || from == m.to) continue;
        const auto& out = all[from].calls;
        const auto& in = all[m.to].calls;
        const size_t source = last_begun(out, m.requested), target = first_ended(in, m.delivered);
        if (source == out.size() || target == in.size()) continue;
        flow++;
        begins[from].push_back({flow, source});
        ends[m.to].push_back({flow, target});
      }
    const auto by_call = [](const End& a, const End& b) { return a.call < b.call; };
    for (size_t r = 0; r < all.size(); r++) {
      std::stable_sort(begins[r].begin(), begins[r].end(), by_call);
      std::stable_sort(ends[r].begin(), ends[r].end(), by_call);
      Protobuf d, t;
      t.number(thread::pid, kRanks)
          .number(thread::tid, r + 1)
          .text(thread::name, "rank " + std::to_string(r));
      put_track(d.number(track::uuid, kRankTracks + r).message(track::thread, t));
      size_t b = 0, e = 0;
      for (size_t i = 0; i < all[r].calls.size(); i++) {
        const CallRecord& c = all[r].calls[i];
        Protobuf open = new_event(event::kBegin, kRankTracks + r);
        open.number(event::name_iid, names_.at(c.name));
        annotate(c, &open);
        for (; b < begins[r].size() && begins[r][b].call == i; b++)
          open.fixed(event::flow, begins[r][b].flow);
        put_event(c.begin, open);
        if (c.end == 0) continue;  // stays open: it never returned
        Protobuf close = new_event(event::kEnd, kRankTracks + r);
        for (; e < ends[r].size() && ends[r][e].call == i; e++) close.fixed(event::flow_end, ends[r][e].flow);
        put_event(c.end, close);
      }
    }
  }

  // Both return the number of calls if there is none.
  static size_t last_begun(const std::vector<CallRecord>& calls, uint64_t time) {
    const auto after = std::upper_bound(calls.begin(), calls.end(), time,
                                        [](uint64_t t, const CallRecord& c) { return t < c.begin; });
    return after == calls.begin() ? calls.size() : static_cast<size_t>(after - calls.begin()) - 1;
  }
  static size_t first_ended(const std::vector<CallRecord>& calls, uint64_t time) {
    const auto it = std::lower_bound(calls.begin(), calls.end(), time,
                                     [](const CallRecord& c, uint64_t t) { return c.end != 0 && c.end < t; });
    return it != calls.end() && it->end != 0 ? static_cast<size_t>(it - calls.begin()) : calls.size();
  }

  static void annotate(const CallRecord& c, Protobuf* e) {
    if (c.peer >= 0)
      e->message(event::annotations, Protobuf()
                                         .number(annotation::name_iid, kPeer)
                                         .number(annotation::int_value, static_cast<uint64_t>(c.peer)));
    else if (c.peer == kAnyPeer)
      e->message(event::annotations,
                 Protobuf().number(annotation::name_iid, kPeer).text(annotation::text, "any"));
    if (c.bytes != 0)
      e->message(event::annotations,
                 Protobuf().number(annotation::name_iid, kBytes).number(annotation::uint_value, c.bytes));
  }

  void counters() {
    uint64_t uuid = kCounterTracks;
    for (const Series& s : link_use(*report_.results))
      put_counter(uuid++, "link throughput " + s.name, "GB/s", s, report_.machine->link_bandwidth * 1e-9);
    for (const Series& s : buffer_use(*report_.results))
      put_counter(uuid++, "buffer " + s.name, "bytes", s, 1);
  }
  void put_counter(uint64_t uuid, const std::string& name, const char* unit, const Series& s, double scale) {
    Protobuf d;
    d.number(track::uuid, uuid).number(track::parent, kNetwork).text(track::name, name);
    put_track(d.message(track::counter, Protobuf().text(counter::unit_name, unit)));
    const netsim::Results& r = *report_.results;
    double before = -1;
    for (size_t b = 0; b < s.values.size(); b++) {
      const double value = s.values[b] * scale;
      if (value == before) continue;
      before = value;
      put_event(b * r.bin_width, new_event(event::kCounter, uuid).real(event::counter, value));
    }
    put_event(r.end, new_event(event::kCounter, uuid).real(event::counter, 0));
  }

  // Sequences overlap, slices of a track must not: as many tracks as overlap at a time, all of one name.
  // Inside a slice: the time when all ranks are in the sequence.
  void sequences() {
    const auto& all = *report_.sequences;
    std::vector<size_t> order;
    for (size_t i = 0; i < all.size(); i++)
      if (all[i].last_end > all[i].first_begin) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return all[a].first_begin < all[b].first_begin; });
    std::vector<netsim::Time> busy_until;
    for (const size_t i : order) {
      const experiment::SequenceTimes& s = all[i];
      size_t row = 0;
      while (row < busy_until.size() && busy_until[row] > s.first_begin) row++;
      const uint64_t uuid = kSequenceTracks + row;
      if (row == busy_until.size()) {
        busy_until.push_back(0);
        Protobuf d;
        put_track(d.number(track::uuid, uuid).number(track::parent, kNetwork).text(track::name, "sequences"));
      }
      busy_until[row] = s.last_end;
      put_event(s.first_begin, new_event(event::kBegin, uuid).text(event::name, sequence_name(report_, i)));
      if (s.last_begin < s.first_end) {
        put_event(s.last_begin, new_event(event::kBegin, uuid).text(event::name, "all ranks"));
        put_event(s.first_end, new_event(event::kEnd, uuid));
      }
      put_event(s.last_end, new_event(event::kEnd, uuid));
    }
  }

  static constexpr uint64_t kPeer = 1, kBytes = 2;  // interned annotation names
  const SimulationReport& report_;
  std::ostream& out_;
  std::map<std::string, uint64_t> names_;
};

}  // namespace

void write_trace(const SimulationReport& report, std::ostream& out) {
  TraceWriter(report, out).write();
}

}  // namespace tasuki::simmpi
