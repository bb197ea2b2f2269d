// The trace, decoded by a reader of its own: a protobuf message is a list of (field, value).
#include "simmpi/report/trace.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "simmpi/test/example_report.h"

namespace tasuki::simmpi {
namespace {

struct Field {
  uint32_t number;
  uint64_t value;    // of a varint or eight bytes
  std::string text;  // of anything with a length
};
uint64_t varint(const std::string& in, size_t* at) {
  uint64_t v = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(in.at((*at)++));
    v |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return v;
  }
}
std::vector<Field> decode(const std::string& in) {
  std::vector<Field> out;
  for (size_t at = 0; at < in.size();) {
    const uint64_t key = varint(in, &at);
    Field f{static_cast<uint32_t>(key >> 3), 0, {}};
    if ((key & 7) == 0) {
      f.value = varint(in, &at);
    } else if ((key & 7) == 1) {
      for (int i = 0; i < 8; i++) f.value |= uint64_t{static_cast<unsigned char>(in.at(at++))} << 8 * i;
    } else {
      EXPECT_EQ(key & 7, 2u);
      const size_t size = varint(in, &at);
      EXPECT_LE(at + size, in.size());
      f.text = in.substr(at, size);
      at += size;
    }
    out.push_back(std::move(f));
  }
  return out;
}
const Field* find(const std::vector<Field>& fields, uint32_t number) {
  for (const Field& f : fields)
    if (f.number == number) return &f;
  return nullptr;
}

struct Slice {
  std::string name;
  uint64_t begin = 0, end = 0;
  bool closed = false;
};
struct Decoded {
  std::map<uint64_t, std::string> tracks;
  std::map<uint64_t, std::vector<Slice>> slices;                          // by track
  std::map<uint64_t, std::vector<std::pair<uint64_t, double>>> counters;  // by track: time, value
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> flow_from, flow_to;   // flow: track, time
};

// As a viewer reads it: events in order of the file; slices of a track nest.
Decoded read(const std::string& trace) {
  Decoded d;
  std::map<uint64_t, std::string> names;
  std::map<uint64_t, std::vector<size_t>> open;
  for (const Field& p : decode(trace)) {
    EXPECT_EQ(p.number, 1u);
    const auto packet = decode(p.text);
    EXPECT_NE(find(packet, 10), nullptr);
    if (const Field* interned = find(packet, 12))
      for (const Field& f : decode(interned->text))
        if (f.number == 2) {
          const auto entry = decode(f.text);
          names[find(entry, 1)->value] = find(entry, 2)->text;
        }
    if (const Field* descriptor = find(packet, 60)) {
      const auto t = decode(descriptor->text);
      std::string name = find(t, 2) ? find(t, 2)->text : "";
      if (find(t, 4)) name = find(decode(find(t, 4)->text), 5)->text;
      if (find(t, 3)) name = find(decode(find(t, 3)->text), 6)->text;
      EXPECT_TRUE(d.tracks.emplace(find(t, 1)->value, name).second);
      EXPECT_TRUE(find(t, 5) == nullptr || d.tracks.count(find(t, 5)->value) != 0);
    }
    const Field* event = find(packet, 11);
    if (event == nullptr) continue;
    const auto e = decode(event->text);
    const uint64_t time = find(packet, 8)->value, track = find(e, 11)->value, type = find(e, 9)->value;
    EXPECT_TRUE(d.tracks.count(track));
    if (type == 4) {
      double v;
      std::memcpy(&v, &find(e, 44)->value, sizeof(v));
      d.counters[track].emplace_back(time, v);
    } else if (type == 1) {
      open[track].push_back(d.slices[track].size());
      d.slices[track].push_back(
          {find(e, 23) ? find(e, 23)->text : names.at(find(e, 10)->value), time, 0, false});
    } else {
      EXPECT_EQ(type, 2u);
      EXPECT_FALSE(open[track].empty());
      Slice& s = d.slices[track].at(open[track].back());
      s.end = time;
      s.closed = true;
      open[track].pop_back();
      EXPECT_LE(s.begin, s.end);
    }
    for (const Field& f : e) {
      if (f.number == 47) d.flow_from[f.value] = {track, time};
      if (f.number == 48) d.flow_to[f.value] = {track, time};
    }
  }
  return d;
}
Decoded trace_of(const SimulationReport& report) {
  std::ostringstream out;
  write_trace(report, out);
  return read(out.str());
}
uint64_t track(const Decoded& d, const std::string& name) {
  for (const auto& [uuid, n] : d.tracks)
    if (n == name) return uuid;
  ADD_FAILURE() << "no track " << name;
  return 0;
}

const Example& torus() {
  static const Example e = make_example(netsim::paper_machine({4, 4}), "a2at", 20000, 0);
  return e;
}

TEST(Trace, CallsAreSlicesOfTheirRank) {
  const Decoded d = trace_of(torus().report(true));
  const auto& log = torus().log;
  for (size_t r = 0; r < log.ranks.size(); r++) {
    const auto& slices = d.slices.at(track(d, "rank " + std::to_string(r)));
    ASSERT_EQ(slices.size(), log.ranks[r].calls.size());
    for (size_t i = 0; i < slices.size(); i++) {
      const CallRecord& c = log.ranks[r].calls[i];
      EXPECT_EQ(slices[i].name, c.name);
      EXPECT_EQ(slices[i].begin, c.begin / 1000);
      EXPECT_EQ(slices[i].closed, c.end != 0);  // what never returned stays open
      EXPECT_EQ(slices[i].end, c.end / 1000);
    }
  }
}

TEST(Trace, MessagesAreFlowsForwardInTime) {
  const Decoded d = trace_of(torus().report(true));
  size_t delivered = 0;
  for (const RankLog& r : torus().log.ranks)
    for (const MessageRecord& m : r.messages) delivered += m.delivered != 0 ? 1 : 0;
  EXPECT_EQ(d.flow_from.size(), delivered);
  EXPECT_EQ(d.flow_to.size(), delivered);
  std::set<std::pair<std::string, std::string>> pairs;
  for (const auto& [flow, from] : d.flow_from) {
    const auto to = d.flow_to.at(flow);
    EXPECT_LE(from.second, to.second);
    pairs.emplace(d.tracks.at(from.first), d.tracks.at(to.first));
  }
  EXPECT_EQ(pairs.size(), 16u);
  EXPECT_TRUE(pairs.count({"rank 3", "rank 4"}));
}

TEST(Trace, CountersAddUpToWhatTheLinksCarried) {
  const Decoded d = trace_of(torus().report(false));
  const netsim::Results& r = torus().outcome.results;
  for (size_t c = 0; c < r.classes.size(); c++) {
    const auto& points = d.counters.at(track(d, "link throughput " + r.classes[c]));
    double gigabytes = 0;
    for (size_t i = 0; i + 1 < points.size(); i++)
      gigabytes += points[i].second * 1e-9 * static_cast<double>(points[i + 1].first - points[i].first);
    double bytes = 0;
    for (size_t l = 0; l < r.links.size(); l++)
      if (torus().topology->links()[l].link_class == c) bytes += static_cast<double>(r.links[l].bytes);
    EXPECT_NEAR(gigabytes * 1e9 * r.class_links[c] / bytes, 1, 1e-3) << r.classes[c];
    EXPECT_EQ(points.back().second, 0);
  }
  EXPECT_EQ(d.counters.count(track(d, "buffer -Y vc1")), 1u);
}

TEST(Trace, SequencesThatOverlapGetTracksOfTheirOwn) {
  SimulationReport report = torus().report(false);
  const std::vector<experiment::SequenceTimes> times = {
      {0, 10000, 50000, 90000}, {60000, 95000, 120000, 130000}, {125000, 140000, 135000, 200000}, {}};
  report.sequences = &times;
  report.sequence_names = {"phase 1", "phase 2", "phase 3", "not run"};
  const Decoded d = trace_of(report);
  size_t rows = 0;
  std::map<std::string, Slice> found;
  for (const auto& [uuid, name] : d.tracks) {
    if (name != "sequences") continue;
    rows++;
    uint64_t before = 0;
    for (const Slice& s : d.slices.at(uuid)) {
      EXPECT_TRUE(s.closed);
      if (s.name == "all ranks") continue;
      EXPECT_GE(s.begin, before);
      before = s.end;
      found[s.name] = s;
    }
  }
  EXPECT_EQ(rows, 2u);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found["phase 2"].begin, 60u);
  EXPECT_EQ(found["phase 2"].end, 130u);
}

}  // namespace
}  // namespace tasuki::simmpi
