// What `tasuki tune` measures. The ways of a message are timed on the engine itself, as ping-pong of two
// threads; the constants are what makes the model's formulas (src/message/cost/cost.cpp) agree with these
// times.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "bench/driver/figures/stats.h"
#include "bench/driver/jobs/measuring_job.h"
#include "message/engine.h"
#include "os/process/cpu.h"
#include "os/process/thread.h"
#include "tools/tune/tune.h"

namespace tasuki::tool {
namespace {

using message::Way;

// Each figure is the lower quartile of so many, taken in turns with the others: other programs only make it
// longer.
constexpr int kRounds = 9;
double calm(std::vector<double> rounds) {
  std::sort(rounds.begin(), rounds.end());
  return rounds[rounds.size() / 4];
}
// Of one figure in one round.
constexpr double kSeconds = 0.02;
// Round trips of a block.
constexpr int kTrips = 8;
// Blocks in which a thread lost its core do not count; where too few are left, one figure takes up to so many
// times as long.
constexpr size_t kFewestBlocks = 3;
constexpr double kPatience = 8;
constexpr uint64_t kLine = 64;

struct alignas(kLine) Flag {
  std::atomic<uint64_t> value{0};
};

void await(const Flag& f, uint64_t value) {
  while (f.value.load(std::memory_order_acquire) < value) cpu_relax();
}

class Buffer {
 public:
  explicit Buffer(const Pattern& p)
      : layout_(p.runs == 1 ? layout::make_dense(p.length)
                            : layout::make_hvector(p.runs, p.length, p.stride, layout::byte_layout())),
        memory_(static_cast<size_t>(layout::extent(layout_)) + kLine),
        packed_(layout::size(layout_)) {}
  ~Buffer() { layout::release(layout_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  layout::Region region() { return {memory_.data(), 1, layout_}; }
  layout::Footprint footprint() { return layout::footprint(region()); }
  void write() { layout::unpack(region(), 0, packed_.size(), packed_.data()); }
  void read() { layout::pack(packed_.data(), region(), 0, packed_.size()); }
  uint64_t bytes() const { return packed_.size(); }

 private:
  const layout::Layout* layout_;
  std::vector<char> memory_, packed_;
};

// Times of blocks. Where too few were calm, all count: the constants will be doubted.
class Blocks {
 public:
  void add(double time, bool calm) {
    all_.push_back(time);
    if (calm) calm_.push_back(time);
  }
  bool enough() const { return calm_.size() >= kFewestBlocks; }
  double median() const { return bench::median(enough() ? calm_ : all_); }

 private:
  std::vector<double> all_, calm_;
};

// Nanoseconds of body(), by one thread.
template <typename Body>
double time_ns(Body body) {
  std::vector<double> rounds;
  for (int r = 0; r < kRounds; r++) {
    long n = 0;
    const double start = os::monotonic_seconds();
    double end = start;
    for (; end - start < kSeconds / 4; end = os::monotonic_seconds())
      for (int i = 0; i < 16; i++, n++) body();
    rounds.push_back((end - start) * 1e9 / static_cast<double>(n));
  }
  return calm(rounds);
}

}  // namespace

struct TunePair::State {
  message::Board* board;
  message::Engine engine[2];
};

Result<TunePair*> TunePair::make(const int cores[2]) {
  constexpr size_t kMemory =
      (sizeof(message::Board) + 2 * sizeof(message::Board::Member) + kLine) / kLine * kLine;
  auto pair = std::unique_ptr<TunePair>(new TunePair(cores[0], cores[1]));
  pair->state_ = new State();
  void* memory = aligned_alloc(kLine, kMemory);
  if (memory == nullptr) return Status::error(ENOMEM, "out of memory");
  memset(memory, 0, kMemory);
  message::Board* board = pair->state_->board = static_cast<message::Board*>(memory);
  board->task_count = 2;
  for (int i = 0; i < 2; i++) {
    message::Endpoint* e = pair->state_->engine[i].make_endpoint(board, i);
    if (e == nullptr) return Status::error(ENOMEM, "out of memory");
    board->member(i).endpoint.store(e);
  }
  return pair.release();
}

TunePair::~TunePair() {
  if (state_ != nullptr) free(state_->board);
  delete state_;
}

void TunePair::on_both(const std::function<void(int)>& body) const {
  const auto bound = [&](int me) {
    os::CpuSet own{};
    own.add(core[me]);
    os::use_cores(own);
    body(me);
  };
  std::thread first(bound, 0), second(bound, 1);
  first.join();
  second.join();
}

double TunePair::handshake_ns() const {
  constexpr uint64_t kBlocks = 200, kInBlock = 50;
  Flag there, back;
  std::vector<double> blocks;
  on_both([&](int me) {
    uint64_t trip = 0;
    for (uint64_t block = 0; block < kBlocks; block++) {
      const double start = os::monotonic_seconds();
      for (uint64_t i = 0; i < kInBlock; i++) {
        trip++;
        if (me == 0) there.value.store(trip, std::memory_order_release);
        await(me == 0 ? back : there, trip);
        if (me == 1) back.value.store(trip, std::memory_order_release);
      }
      if (me == 0) blocks.push_back((os::monotonic_seconds() - start) * 1e9 / (2.0 * kInBlock));
    }
  });
  return bench::median(blocks);
}

// Writing what is sent and reading what was received, by one thread alone.
double TunePair::touching_us(const Pattern& pattern) const {
  double us = 0;
  on_both([&](int me) {
    if (me != 0) return;
    Buffer out(pattern), in(pattern);
    us = time_ns([&] {
           out.write();
           in.read();
         }) /
         1e3;
  });
  return us;
}

// What it adds to a message copied directly that its buffers are touched: their lines come and go.
double TunePair::crossing_us(const Pattern& pattern) {
  return way_us(Way::direct, pattern, true) - way_us(Way::direct, pattern, false) - touching_us(pattern);
}

double TunePair::way_us(Way way, const Pattern& pattern, bool touch) {
  message::TransferPolicy policy{};
  policy.protocol = way == Way::alone    ? message::Protocol::automatic
                    : way == Way::direct ? message::Protocol::direct
                                         : message::Protocol::pipelined;
  // Where the other side's help costs a millisecond the model has one side copy everything.
  policy.costs.handshake = 1e6;
  policy.from = message::thresholds(policy.costs);
  policy.from.buffer_up_to = 0;
  policy.claim_bytes = 64 << 10;
  Flag done;       // 1: rank 0 has had enough
  Flag displaced;  // rank 1, so often
  double us = 0;
  on_both([&](int me) {
    message::Engine& e = state_->engine[me];
    message::Engine::Options o{};
    o.transfer = policy;
    o.wait = {2000, false, nullptr};
    e.set_options(o);
    Buffer out(pattern), in(pattern);
    out.write();
    in.write();
    const auto request = [&](Buffer& b) {
      message::Request* r = e.take_request();
      r->region = b.region();
      r->context = 1;
      r->peer = 1 - me;
      r->envelope.source_rank = me;
      return r;
    };
    const auto send = [&] {
      if (touch) out.write();
      message::Request* r = request(out);
      e.start_send(r, SendMode::standard);
      e.wait(r);
      e.give_request(r);
    };
    const auto receive = [&] {
      message::Request* r = request(in);
      e.receive(r);
      e.give_request(r);
      if (touch) in.read();
    };
    // Rank 0 decides when it ends, before a message that both still exchange. The median of the calm blocks
    // is the time. Rank 1 says how often it was displaced before the last message of a block.
    Blocks blocks;
    const double begin = os::monotonic_seconds();
    long before = 0;
    for (bool last = false; !last;) {
      const double start = os::monotonic_seconds();
      const double spent = start - begin;
      for (int trip = 1; trip <= kTrips; trip++) {
        if (me == 0) {
          if (trip == kTrips && (spent > kPatience * kSeconds || (spent > kSeconds && blocks.enough()))) {
            last = true;
            done.value.store(1, std::memory_order_release);
          }
          send();
          receive();
        } else {
          receive();
          last = done.value.load(std::memory_order_acquire) != 0;
          if (trip == kTrips)
            displaced.value.store(static_cast<uint64_t>(os::times_displaced()), std::memory_order_release);
          send();
        }
      }
      const double time = (os::monotonic_seconds() - start) * 1e6 / (2 * kTrips);
      if (me == 1) continue;
      const long after =
          os::times_displaced() + static_cast<long>(displaced.value.load(std::memory_order_acquire));
      blocks.add(time, after == before);
      before = after;
    }
    if (me == 0) us = blocks.median();
  });
  return us;
}

message::Costs TunePair::costs(const std::function<void(const std::string&)>& progress) {
  // Small and large, each run in a line of its own; lines beside each other; each run on a page of its own.
  constexpr Pattern kSmall = {2048, 8, 256}, kLarge = {8192, 8, 256};
  constexpr Pattern kLines = {256, 256, 320}, kPages = {408, 40, 4168};
  message::Costs c{};

  progress("flags between cores " + std::to_string(core[0]) + " and " + std::to_string(core[1]));
  std::vector<double> flags;
  for (int r = 0; r < kRounds; r++) flags.push_back(handshake_ns());
  c.handshake = calm(flags);

  progress("copies within a core");
  on_both([&](int me) {
    if (me != 0) return;
    Buffer dense({1, 16 << 10, 0}), runs(kSmall);
    std::vector<char> to(dense.bytes());
    c.byte = time_ns([&] { layout::pack(to.data(), dense.region(), 0, to.size()); }) /
             static_cast<double>(to.size());
    const double pack = time_ns([&] { runs.read(); });
    c.run = (pack - c.byte * static_cast<double>(runs.bytes())) / static_cast<double>(kSmall.runs);
  });

  // In turns, so that a bad moment of the machine meets all of them.
  std::vector<double> lines, pages, small_us, large_us;
  for (int r = 1; r <= kRounds; r++) {
    progress("lines between cores, and messages, round " + std::to_string(r) + " of " +
             std::to_string(kRounds));
    lines.push_back(crossing_us(kLines));
    pages.push_back(crossing_us(kPages));
    small_us.push_back(way_us(Way::pipelined, kSmall, false));
    large_us.push_back(way_us(Way::pipelined, kLarge, false));
  }
  const auto crossing = [](const std::vector<double>& us) { return 1e3 / message::kThereAndBack * calm(us); };
  const layout::Footprint close = Buffer(kLines).footprint(), apart = Buffer(kPages).footprint();
  c.line = crossing(lines) / static_cast<double>(close.lines);
  // Where lines far apart cost no more than others, pages cost nothing.
  c.page = std::max(
      0.0, (crossing(pages) - c.line * static_cast<double>(apart.lines)) / static_cast<double>(apart.pages));
  const double small = 1e3 * calm(small_us), large = 1e3 * calm(large_us);
  const double loop = c.run + 8 * c.byte, runs = static_cast<double>(kLarge.runs - kSmall.runs);
  c.staged_byte = (large - small - runs * loop) / (8 * runs);
  c.unit = (small - static_cast<double>(kSmall.runs) * (loop + 8 * c.staged_byte) - c.handshake) / 8;
  return c;
}

}  // namespace tasuki::tool
