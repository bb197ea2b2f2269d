#include "message/transfers/trials.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "world.h"

namespace tasuki::message {
namespace {

constexpr Prospects kDirectThenPipelined{{400, 100, 150}, Way::direct};

// A program whose cycle takes so long by each way.
class Program {
 public:
  Program(std::array<double, 3> us, double noise, Prospects model = kDirectThenPipelined)
      : us_(us), noise_(noise), model_(model) {}

  void run(int messages, uint64_t spread = 0) {
    for (int i = 0; i < messages; i++) {
      const Way way =
          stream_->next([&] { return model_; }, spread, [&] { return static_cast<int64_t>(now_ * 1e3); });
      taken_[static_cast<size_t>(way)]++;
      last_ = way;
      const double phase = rhythm_ != 0 && ++messages_ / (rhythm_ / 2) % 2 != 0 ? 100 : 0;
      now_ +=
          us_[static_cast<size_t>(way)] + phase + noise_ * std::exponential_distribution<double>(1)(random_);
    }
  }
  void pause(double us) { now_ += us; }
  // So many messages long, of which one half has longer cycles.
  void rhythm(int messages, int start) { rhythm_ = messages, messages_ = start; }
  void becomes(std::array<double, 3> us) { us_ = us; }
  void seed(unsigned n) { random_.seed(n); }
  int taken(Way w) const { return taken_[static_cast<size_t>(w)]; }
  Way last() const { return last_; }
  uint32_t changes() const { return stream_->changes(); }

 private:
  std::array<double, 3> us_;
  double noise_;
  Prospects model_;
  std::unique_ptr<Stream> stream_ = std::make_unique<Stream>();
  double now_ = 0;
  int rhythm_ = 0, messages_ = 0;
  std::array<int, 3> taken_{};
  Way last_{};
  std::mt19937 random_{1};
};

TEST(Stream, FewMessagesAreAsTheModelSays) {
  Program p({400, 100, 10}, 0);
  p.run(Stream::kFirst);
  EXPECT_EQ(p.taken(Way::direct), static_cast<int>(Stream::kFirst));
}

TEST(Stream, KeepsABetterRival) {
  Program p({400, 100, 70}, 5);
  p.run(Stream::kFirst + Stream::kMessages + 1);
  EXPECT_EQ(p.last(), Way::pipelined);
  EXPECT_EQ(p.changes(), 1u);
  p.run(100000);
  EXPECT_EQ(p.last(), Way::pipelined);
  EXPECT_EQ(p.changes(), 1u);
}

TEST(Stream, TriesTheThirdWayToo) {
  Program p({60, 100, 150}, 3, {{300, 100, 150}, Way::direct});
  p.run(2000);
  EXPECT_EQ(p.last(), Way::alone);
}

// A way that takes many times as long is not tried, and one that cannot be taken never is.
TEST(Stream, LeavesOutWhatIsHopeless) {
  Program p({60, 100, 50}, 3, {{100 * Stream::kHopeless + 1, 100, HUGE_VAL}, Way::direct});
  p.run(10000);
  EXPECT_EQ(p.taken(Way::direct), 10000);
}

// Half a trial's messages at each of a few trials, and less if the rival is much worse.
TEST(Stream, TriesSeldom) {
  Program much({400, 100, 300}, 5, {{1000, 100, 150}, Way::direct});
  much.run(1000000);
  EXPECT_LE(much.taken(Way::pipelined), static_cast<int>(24 * Stream::kRun));
  Program p({400, 100, 110}, 5, {{1000, 100, 150}, Way::direct});
  p.run(1000000);
  EXPECT_EQ(p.changes(), 0u);
  EXPECT_GE(p.taken(Way::pipelined), static_cast<int>(3 * Stream::kMessages));
  EXPECT_LE(p.taken(Way::pipelined), static_cast<int>(30 * Stream::kMessages));
  EXPECT_EQ(p.taken(Way::alone), 0);
}

// What else the program does varies a hundred times as much as the ways differ: one trial in 700 is wrong,
// and then costs as little.
TEST(Stream, NoiseChangesLittle) {
  uint32_t changes = 0, trials = 0;
  for (unsigned seed = 0; seed < 1000; seed++) {
    Program p({1000, 100, 110}, 1000);
    p.seed(seed);
    p.run(1000);
    changes += p.changes();
    trials += 5;
  }
  EXPECT_LE(changes, trials / 200);
}

TEST(Stream, RhythmsOfTheProgramChangeNothing) {
  uint32_t changes = 0;
  for (int rhythm = 2; rhythm <= 64; rhythm += 2)
    for (int start = 0; start < rhythm; start++) {
      Program p({400, 100, 110}, 1);
      p.rhythm(rhythm, start);
      p.run(Stream::kFirst + Stream::kMessages + 1);
      changes += p.changes();
    }
  EXPECT_LE(changes, 4u);  // of 1056
}

// The program stops now and then: for its output, or because another one has the core.
TEST(Stream, PausesDoNotCount) {
  Program p({400, 100, 70}, 5);
  for (int i = 0; i < 60; i++) {
    p.run(17);
    p.pause(1e6);
  }
  EXPECT_EQ(p.last(), Way::pipelined);
}

TEST(Stream, FollowsAProgramThatBecomesAnother) {
  Program p({400, 100, 70}, 5);
  p.run(5000);
  ASSERT_EQ(p.last(), Way::pipelined);
  p.becomes({400, 70, 100});
  p.run(20000);
  EXPECT_EQ(p.last(), Way::direct);
}

// All ranks begin their first trial at the same message; later ones lie apart.
TEST(Stream, LaterTrialsAreSpread) {
  constexpr Prospects kTwo{{1000, 100, 150}, Way::direct};
  Program a({400, 100, 120}, 0, kTwo), b({400, 100, 120}, 0, kTwo);
  const auto rivals_at = [](Program& p, uint64_t spread) {
    std::vector<int> at;
    for (int i = 0; i < 300; i++) {
      p.run(1, spread);
      if (p.last() != Way::direct) at.push_back(i);
    }
    return at;
  };
  const std::vector<int> first = rivals_at(a, 5), second = rivals_at(b, 63);
  const size_t half = Stream::kMessages / 2;
  ASSERT_GE(first.size(), 2 * half);
  ASSERT_GE(second.size(), 2 * half);
  EXPECT_EQ(std::vector(first.begin(), first.begin() + half),
            std::vector(second.begin(), second.begin() + half));
  EXPECT_LT(first[2 * half - 1], second[half]);
}

constexpr auto kModel = [] { return kDirectThenPipelined; };

// Does a stream learn what is better, while so many others want places of its set?
bool learns(Streams& streams, uint64_t key, uint64_t other_keys, bool others_counted) {
  int late = 0;
  int64_t now = 0;
  const auto clock = [&] { return now; };
  for (uint64_t i = 0; i < 400; i++) {
    const Way way = streams.next(key, kModel, clock);
    for (uint64_t k = 1; k <= other_keys; k++)
      streams.next(key + 16 * (others_counted ? 1000 + i * other_keys + k : k), kModel, clock);
    now += way == Way::pipelined ? 2000 : 20000;
    if (i >= 300 && way == Way::pipelined) late++;
  }
  return late > 50;
}

// All keys want places of one set.
TEST(Streams, EachLearnsForItself) {
  auto streams = std::make_unique<Streams>();
  EXPECT_TRUE(learns(*streams, 16, 0, false));
  EXPECT_TRUE(learns(*std::make_unique<Streams>(), 16, 3, false));
  // The last one's messages changed nothing for others: this stream is new.
  EXPECT_EQ(streams->next(32, kModel, [] { return 0; }), Way::direct);
}

TEST(Streams, TagsThatAreCountedUpTakeNoneAway) {
  EXPECT_TRUE(learns(*std::make_unique<Streams>(), 16, 1, true));
}

TEST(Streams, ManyThreadsAtOnce) {
  auto streams = std::make_unique<Streams>();
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; t++)
    threads.emplace_back([&streams, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 50000; i++) {
        const Way w =
            streams->next(random() % 7 * 16, kModel, [&] { return static_cast<int64_t>(random()); });
        ASSERT_TRUE(w == Way::direct || w == Way::pipelined || w == Way::alone);
      }
    });
  for (std::thread& t : threads) t.join();
}

// A program whose messages are others after every forty: it does not spend half of them on trials.
TEST(Streams, WhereStreamsComeAndGoNewOnesBeginLater) {
  auto streams = std::make_unique<Streams>();
  int64_t now = 0;
  int late = 0;
  for (uint64_t key = 1; key <= 2000; key++)
    for (int i = 0; i < 40; i++) {
      const Way way = streams->next(key, kModel, [&] { return now; });
      now += way == Way::direct ? 100 : 110;
      if (key > 1000 && way != Way::direct) late++;
    }
  EXPECT_LT(late, 400);  // of 40000
}

// What takes the staging buffer gives it back.
TEST(Trials, MessagesWithoutBytesTakeNoBuffer) {
  World w(2, Protocol::pipelined, 0);
  std::vector<char> nothing, out = pattern(100000, 1), in(out.size());
  w.run([&](int me) {
    for (std::vector<char>* data : {&nothing, me == 0 ? &out : &in}) {
      if (me == 0)
        finish(w[0], isend(w[0], bytes_of(*data), 1, 3, SendMode::synchronous));
      else
        finish(w[1], irecv(w[1], bytes_of(*data), 0, 3));
    }
  });
  EXPECT_EQ(in, out);
  EXPECT_EQ(w[0].stats().transfer.direct_bytes + w[1].stats().transfer.direct_bytes, 0u);
}

// Dense messages by all ways, of which some are cut off by a short buffer.
TEST(Trials, DenseMessagesOfAStreamArriveByEachWay) {
  World w(2);
  constexpr size_t kBytes = 100000, kShort = 70000;
  w.run([&](int me) {
    std::mt19937 random(static_cast<unsigned>(me));
    std::vector<char> buffer(kBytes);
    for (unsigned round = 0; round < 300; round++) {
      if (random() % 3 == 0) std::this_thread::yield();
      if (me == 0) {
        buffer = pattern(kBytes, round);
        finish(w[0], isend(w[0], bytes_of(buffer), 1, 3, SendMode::synchronous));
      } else {
        buffer.assign(kBytes, 7);
        const size_t room = round % 2 == 0 ? kBytes : kShort;
        Request* r = make(w[1], {buffer.data(), room, layout::byte_layout()}, 0, 3);
        w[1].receive(r);
        EXPECT_EQ(r->truncated != 0, room != kBytes);
        w[1].give_request(r);
        std::vector<char> expected = pattern(kBytes, round);
        std::fill(expected.begin() + static_cast<ptrdiff_t>(room), expected.end(), 7);
        ASSERT_EQ(buffer, expected) << round;
      }
    }
  });
  const TransferStats &a = w[0].stats().transfer, &b = w[1].stats().transfer;
  EXPECT_GT(a.direct_bytes + b.direct_bytes, 0u);
  EXPECT_GT(a.pipelined_bytes + b.pipelined_bytes, 0u);
}

// The same stream by all ways, each message with data of its own; now the one side is late, now the other.
TEST(Trials, MessagesOfAStreamArriveByEachWay) {
  World w(2);
  constexpr uint64_t kBlocks = 2000;
  const layout::Layout* thin = layout::make_hvector(kBlocks, 8, 64, layout::byte_layout());
  const layout::Layout* other = layout::make_hvector(kBlocks / 2, 16, 80, layout::byte_layout());
  std::vector<char> out(kBlocks * 64), in(kBlocks * 40);
  w.run([&](int me) {
    std::mt19937 random(static_cast<unsigned>(me));
    for (unsigned round = 0; round < 400; round++) {
      if (random() % 3 == 0) std::this_thread::yield();
      if (me == 0) {
        for (uint64_t i = 0; i < kBlocks * 8; i++) out[i / 8 * 64 + i % 8] = static_cast<char>(i * 7 + round);
        finish(w[0], isend(w[0], {out.data(), 1, thin}, 1, 3, SendMode::synchronous));
      } else {
        Request* r = make(w[1], {in.data(), 1, other}, 0, kAnyTag);
        w[1].receive(r);
        w[1].give_request(r);
        for (uint64_t i = 0; i < kBlocks * 8; i++)
          ASSERT_EQ(in[i / 16 * 80 + i % 16], static_cast<char>(i * 7 + round)) << round << ", byte " << i;
      }
    }
  });
  const TransferStats &a = w[0].stats().transfer, &b = w[1].stats().transfer;
  EXPECT_GT(a.direct_bytes + b.direct_bytes + a.alone_bytes + b.alone_bytes, 0u);
  EXPECT_GT(a.pipelined_bytes + b.pipelined_bytes, 0u);
  layout::release(thin);
  layout::release(other);
}

}  // namespace
}  // namespace tasuki::message
