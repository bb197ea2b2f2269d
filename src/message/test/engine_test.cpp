// The engine without MPI: threads play the tasks of a space.
#include <random>

#include "message/test/world.h"

namespace tasuki::message {
namespace {

TEST(Engine, EverySizeArrivesWhicheverSideIsFirst) {
  for (const size_t n :
       {size_t{0}, size_t{1}, size_t{40}, size_t{41}, size_t{100}, size_t{999}, size_t{1000}, size_t{1001},
        size_t{4096}, size_t{4097}, size_t{6144}, size_t{70000}, size_t{1} << 20}) {
    for (const bool receiver_first : {false, true}) {
      World w(2);
      std::vector<char> in(n, 0), out = pattern(n, 1);
      // One thread plays both, one after the other: nobody needs the other to make progress.
      Request *s = nullptr, *r = nullptr;
      if (receiver_first) r = irecv(w[1], bytes_of(in), 0, 5);
      s = isend(w[0], bytes_of(out), 1, 5);
      if (!receiver_first) r = irecv(w[1], bytes_of(in), 0, 5);
      while (!w[1].poll(r, true)) w[0].poll(s, true);
      while (!w[0].poll(s, true)) {
      }
      EXPECT_EQ(in, out) << n << " bytes, receiver first " << receiver_first;
      EXPECT_EQ(r->status_bytes, n);
      EXPECT_EQ(r->status_source, 0);
      EXPECT_EQ(r->status_tag, 5);
    }
  }
}

TEST(Engine, SynchronousSendCompletesOnlyWhenMatched) {
  World w(2);
  std::vector<char> out = pattern(8, 1), in(8);
  Request* s = isend(w[0], bytes_of(out), 1, 1, SendMode::synchronous);
  for (int i = 0; i < 1000; i++) ASSERT_FALSE(w[0].poll(s, false));
  Request* r = irecv(w[1], bytes_of(in), 0, 1);
  EXPECT_TRUE(w[1].poll(r, true));
  EXPECT_TRUE(w[0].poll(s, true));
  EXPECT_EQ(in, out);
}

TEST(Engine, EagerSendCompletesWithoutItsReceiveAndKeepsItsPlace) {
  World w(2);
  std::vector<char> first = pattern(30000, 1), second = pattern(100, 2), third = pattern(30000, 3);
  const std::vector<char> sent[] = {first, second, third};
  finish(w[0], isend(w[0], bytes_of(first), 1, 1));
  finish(w[0], isend(w[0], bytes_of(second), 1, 1));
  finish(w[0], isend(w[0], bytes_of(third), 1, 1));
  for (std::vector<char>* v : {&first, &second, &third}) std::fill(v->begin(), v->end(), 0);  // it was copied
  for (const std::vector<char>& expected : sent) {
    std::vector<char> in(expected.size());
    finish(w[1], irecv(w[1], bytes_of(in), kAnySource, kAnyTag));
    EXPECT_EQ(in, expected);
  }
}

TEST(Engine, TruncationDeliversWhatFits) {
  for (const size_t n : {size_t{100}, size_t{3000}, size_t{200000}}) {
    World w(2);
    std::vector<char> out = pattern(n, 1), in(n / 2, 0);
    Request* s = isend(w[0], bytes_of(out), 1, 1);
    Request* r = irecv(w[1], bytes_of(in), 0, 1);
    w[1].wait(r);
    w[0].wait(s);
    EXPECT_TRUE(r->truncated);
    EXPECT_EQ(r->status_bytes, n / 2);
    EXPECT_TRUE(std::equal(in.begin(), in.end(), out.begin()));
  }
}

TEST(Engine, CancelTakesTheReceiveOut) {
  World w(2);
  std::vector<char> in(8), out = pattern(8, 1), in2(8);
  Request* r = irecv(w[1], bytes_of(in), 0, 1);
  EXPECT_TRUE(w[1].cancel(r));
  EXPECT_TRUE(w[1].poll(r, true));
  EXPECT_TRUE(r->cancelled);
  finish(w[0], isend(w[0], bytes_of(out), 1, 1));
  Request* r2 = irecv(w[1], bytes_of(in2), 0, 1);
  EXPECT_FALSE(w[1].cancel(r2));
  finish(w[1], r2);
  EXPECT_EQ(in2, out);
}

TEST(Engine, ProbeAndMatchedReceive) {
  World w(2);
  Engine::Found found{};
  EXPECT_FALSE(w[1].probe(kContext, kAnySource, kAnyTag, &found));
  std::vector<char> out = pattern(500, 1), in(500);
  finish(w[0], isend(w[0], bytes_of(out), 1, 9));
  EXPECT_TRUE(w[1].probe(kContext, kAnySource, kAnyTag, &found));
  EXPECT_EQ(found.tag, 9);
  EXPECT_EQ(found.bytes, 500u);
  Envelope* m = w[1].take_message(kContext, 0, 9, &found);
  ASSERT_NE(m, nullptr);
  EXPECT_FALSE(w[1].probe(kContext, kAnySource, kAnyTag, &found));
  Request* r = make(w[1], bytes_of(in), kAnySource, kAnyTag);
  w[1].receive_message(r, m);
  finish(w[1], r);
  EXPECT_EQ(in, out);
}

// Posted receives for a named and for any source are taken in the order in which they were posted.
TEST(Engine, NamedAndWildcardReceivesMatchInPostingOrder) {
  World w(2);
  std::vector<char> a(4), b(4), c(4);
  Request* ra = irecv(w[1], bytes_of(a), kAnySource, 1);
  Request* rb = irecv(w[1], bytes_of(b), 0, kAnyTag);
  Request* rc = irecv(w[1], bytes_of(c), kAnySource, kAnyTag);
  for (unsigned i = 1; i <= 3; i++) {
    std::vector<char> out = pattern(4, i);
    finish(w[0], isend(w[0], bytes_of(out), 1, 1));
  }
  finish(w[1], ra);
  finish(w[1], rb);
  finish(w[1], rc);
  EXPECT_EQ(a, pattern(4, 1));
  EXPECT_EQ(b, pattern(4, 2));
  EXPECT_EQ(c, pattern(4, 3));
}

struct Load {
  const char* name;
  Protocol protocol;
  uint64_t eager;
  size_t largest;
  int tasks;
};

class EngineLoad : public testing::TestWithParam<Load> {};

// Everybody sends to everybody, in random sizes and modes, with receives posted early and late, by name and
// by wildcard: every byte arrives, in order for each pair and tag.
TEST_P(EngineLoad, AllPairs) {
  const Load load = GetParam();
  constexpr int kMessages = 300;
  World w(load.tasks, load.protocol, load.eager);
  auto size_of = [&](int from, int to, int i) {
    std::mt19937 random(static_cast<unsigned>(from * 7919 + to * 104729 + i));
    const int kind = static_cast<int>(random() % 4);
    const size_t limit = kind == 0 ? 41 : kind == 1 ? 1200 : kind == 2 ? 9000 : load.largest;
    return random() % limit;
  };
  w.run([&](int me) {
    Engine& e = w[me];
    std::mt19937 random(static_cast<unsigned>(me));
    std::vector<std::vector<char>> out, in(static_cast<size_t>(load.tasks * kMessages));
    std::vector<Request*> sends, receives;
    for (int i = 0; i < kMessages; i++) {
      for (int peer = 0; peer < load.tasks; peer++) {
        auto& buffer = in[static_cast<size_t>(peer * kMessages + i)];
        buffer.assign(size_of(peer, me, i), 0);
        receives.push_back(irecv(e, bytes_of(buffer), peer, random() % 2 ? 3 : kAnyTag));
        out.push_back(pattern(size_of(me, peer, i), static_cast<unsigned>(me * 1000003 + peer * 1009 + i)));
        const SendMode mode = random() % 4 == 0   ? SendMode::synchronous
                              : random() % 4 == 0 ? SendMode::buffered
                                                  : SendMode::standard;
        sends.push_back(isend(e, bytes_of(out.back()), peer, 3, mode, random() % 2));
      }
      while (sends.size() > 40) {
        finish(e, sends.front());
        sends.erase(sends.begin());
      }
    }
    for (Request* r : receives) {
      e.wait(r);
      EXPECT_FALSE(r->truncated);
      e.give_request(r);
    }
    for (Request* s : sends) finish(e, s);
    for (int peer = 0; peer < load.tasks; peer++)
      for (int i = 0; i < kMessages; i++) {
        const auto expected =
            pattern(size_of(peer, me, i), static_cast<unsigned>(peer * 1000003 + me * 1009 + i));
        ASSERT_EQ(in[static_cast<size_t>(peer * kMessages + i)], expected)
            << peer << " to " << me << ", message " << i;
      }
  });
}

INSTANTIATE_TEST_SUITE_P(, EngineLoad,
                         testing::Values(Load{"automatic", Protocol::automatic, 64 << 10, 150000, 4},
                                         Load{"direct", Protocol::direct, 1 << 10, 150000, 3},
                                         Load{"pipelined", Protocol::pipelined, 1 << 10, 150000, 3},
                                         Load{"alone", Protocol::eager, 1 << 20, 30000, 2},
                                         Load{"nobuffer", Protocol::automatic, 0, 20000, 2}),
                         [](const auto& load) { return std::string(load.param.name); });

// A waiting condition that takes what it finds must not be asked again once it was true.
TEST(Engine, WaitingAsksNoMoreOnceItIsDone) {
  World w(2);
  for (int n = 1; n < 40; n++) {
    int calls = 0;
    w[0].wait_for([&] { return ++calls >= 40 + n; });
    EXPECT_EQ(calls, 40 + n);
  }
}

// A task that waits for something else copies what others have announced.
TEST(Engine, WaitingTasksHelpOthers) {
  World w(3, Protocol::automatic, 64 << 10, 4 << 10, false);
  std::vector<char> from = pattern(1 << 20, 7), to(from.size(), 0);
  auto job = std::make_unique<CopyJob>();
  job->source = bytes_of(from);
  job->destination = bytes_of(to);
  job->bytes = from.size();
  cut(*job, 64 << 10);
  open_job(*job);
  announce(w.jobs(), *job);
  w[2].wait_for([&] { return job->pending.load() == 1; });
  withdraw(w.jobs(), *job);
  EXPECT_EQ(to, from);
  EXPECT_EQ(w[2].stats().transfer.others_bytes, from.size());
}

// Both sides wait, so that both copy; typed on both sides, differently.
TEST(Engine, BothSidesCopyTypedMessages) {
  const layout::Layout* bytes = layout::byte_layout();
  for (const Protocol protocol : {Protocol::automatic, Protocol::direct, Protocol::pipelined}) {
    World w(2, protocol, 0, 2048);
    constexpr uint64_t kBlocks = 30000;
    const layout::Layout* thin = layout::make_hvector(kBlocks, 8, 64, bytes);
    const layout::Layout* other = layout::make_hvector(kBlocks / 2, 16, 80, bytes);
    std::vector<char> out = pattern(kBlocks * 64, 1), in(kBlocks * 80, 0), expected(kBlocks * 80, 0);
    for (uint64_t i = 0; i < kBlocks * 8; i++) expected[i / 16 * 80 + i % 16] = out[i / 8 * 64 + i % 8];
    w.run([&](int me) {
      for (int round = 0; round < 20; round++) {
        Request* r = me == 0 ? isend(w[0], {out.data(), 1, thin}, 1, round)
                             : make(w[1], {in.data(), 1, other}, 0, round);
        if (me == 1)
          w[1].receive(r);
        else
          w[0].wait(r);
        w[me].give_request(r);
      }
    });
    EXPECT_EQ(in, expected);
    layout::release(thin);
    layout::release(other);
  }
}

}  // namespace
}  // namespace tasuki::message
