// Receives that may be satisfied elsewhere, too: no sender takes them, and what waits for them keeps its
// order.
#include <atomic>
#include <chrono>
#include <random>

#include "message/test/world.h"

namespace tasuki::message {
namespace {

Request* reserve(Engine& e, layout::Region region, int from, int tag) {
  Request* r = make(e, region, from, tag);
  e.start_reserved_receive(r);
  return r;
}

bool wanted(const Request* r) {
  return r->wanted.load() != 0;
}

char first_of(const std::vector<char>& v) {
  return v.empty() ? 0 : v[0];
}

// Sizes of every way that a message takes: in the ring, in a cell, from its sender's buffer.
class Reserved : public testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Reserved, testing::Values(8, 3000, 100000));

TEST_P(Reserved, NoSenderTakesIt) {
  World w(2);
  std::vector<char> in(GetParam()), out = pattern(GetParam(), 1);
  Request* r = reserve(w[1], bytes_of(in), kAnySource, kAnyTag);
  EXPECT_FALSE(wanted(r));
  Request* s = isend(w[0], bytes_of(out), 1, 5);
  for (int i = 0; i < 1000; i++) ASSERT_FALSE(w[1].poll(r, true));
  EXPECT_TRUE(wanted(r));
  w[1].unreserve(r);
  EXPECT_TRUE(w[1].poll(r, true));
  EXPECT_EQ(in, out);
  EXPECT_EQ(r->status_source, 0);
  finish(w[1], r);
  finish(w[0], s);
}

TEST_P(Reserved, WhatWaitsGoesToTheNextReceiveWhenItIsSatisfiedElsewhere) {
  World w(2);
  std::vector<char> a(GetParam()), b(GetParam()), out = pattern(GetParam(), 1);
  Request* first = reserve(w[1], bytes_of(a), kAnySource, 5);
  Request* second = irecv(w[1], bytes_of(b), 0, 5);
  Request* s = isend(w[0], bytes_of(out), 1, 5);
  for (int i = 0; i < 100; i++) ASSERT_FALSE(w[1].poll(second, true));
  EXPECT_TRUE(w[1].withdraw(first));
  EXPECT_FALSE(w[1].withdraw(first));
  w[1].give_request(first);
  EXPECT_TRUE(w[1].poll(second, true));
  EXPECT_EQ(b, out);
  EXPECT_FALSE(w[1].contested());
  finish(w[1], second);
  finish(w[0], s);
}

TEST_P(Reserved, AReceiveThatComesLaterDoesNotOvertake) {
  World w(2);
  std::vector<char> a(GetParam()), b(GetParam()), one = pattern(GetParam(), 1), two = pattern(GetParam(), 2);
  Request* first = reserve(w[1], bytes_of(a), kAnySource, 5);
  Request* s1 = isend(w[0], bytes_of(one), 1, 5);
  Request* s2 = isend(w[0], bytes_of(two), 1, 5);
  Engine::Found found;
  Request* second =
      irecv(w[1], bytes_of(b), 0, kAnyTag);  // must not get `one`, nor `two` before that is known
  for (int i = 0; i < 100; i++) ASSERT_FALSE(w[1].poll(second, true));
  EXPECT_FALSE(w[1].probe(kContext, 0, 5, &found));
  w[1].unreserve(first);
  EXPECT_TRUE(w[1].poll(first, true));
  EXPECT_TRUE(w[1].poll(second, true));
  EXPECT_EQ(a, one);
  EXPECT_EQ(b, two);
  for (Request* r : {first, second}) finish(w[1], r);
  for (Request* s : {s1, s2}) finish(w[0], s);
}

TEST_P(Reserved, AMessageDoesNotOvertakeOneThatWaits) {
  for (const bool elsewhere : {true, false}) {
    World w(2);
    std::vector<char> a(GetParam()), b(GetParam()), one = pattern(GetParam(), 1),
                                                    two = pattern(GetParam(), 2);
    Request* first = reserve(w[1], bytes_of(a), kAnySource, 1);
    Request* second = irecv(w[1], bytes_of(b), 0, kAnyTag);
    Request* s1 = isend(w[0], bytes_of(one), 1, 1);  // waits for `first`, and may be for `second`
    Request* s2 = isend(w[0], bytes_of(two), 1, 0);  // for `second`, if `first` gets the other
    for (int i = 0; i < 100; i++) ASSERT_FALSE(w[1].poll(second, true));
    if (elsewhere)
      w[1].withdraw(first);
    else
      w[1].unreserve(first);
    EXPECT_TRUE(w[1].poll(second, true));
    EXPECT_EQ(b, elsewhere ? one : two);
    EXPECT_EQ(a == one, !elsewhere);
    Request* last = irecv(w[1], bytes_of(a), 0, kAnyTag);
    EXPECT_EQ(w[1].poll(last, true), elsewhere);
    if (elsewhere)
      finish(w[1], last);
    else
      EXPECT_TRUE(w[1].cancel(last));
    finish(w[1], second);
    for (Request* s : {s1, s2}) finish(w[0], s);
  }
}

TEST_P(Reserved, SeveralEachGetTheirs) {
  World w(2);
  std::vector<std::vector<char>> in(4, std::vector<char>(GetParam()));
  std::vector<Request*> receives, sends;
  for (std::vector<char>& v : in) receives.push_back(reserve(w[1], bytes_of(v), kAnySource, kAnyTag));
  std::vector<std::vector<char>> out;
  for (unsigned i = 0; i < 4; i++) out.push_back(pattern(GetParam(), i + 1));
  for (int i = 0; i < 4; i++) sends.push_back(isend(w[0], bytes_of(out[static_cast<size_t>(i)]), 1, i));
  // The first is satisfied elsewhere, the others take the messages in their order; the last stays.
  for (int i = 0; i < 100; i++) w[1].poll(receives[0], true);
  EXPECT_TRUE(wanted(receives[0]));
  EXPECT_FALSE(wanted(receives[1]));
  EXPECT_TRUE(w[1].withdraw(receives[0]));
  for (size_t i = 1; i < 4; i++) {
    EXPECT_TRUE(wanted(receives[i])) << i;
    w[1].unreserve(receives[i]);
    EXPECT_TRUE(w[1].poll(receives[i], true));
    EXPECT_EQ(in[i], out[i - 1]);
    EXPECT_EQ(receives[i]->status_tag, static_cast<int>(i) - 1);
  }
  Request* last = irecv(w[1], bytes_of(in[0]), 0, 3);
  EXPECT_TRUE(w[1].poll(last, true));
  EXPECT_EQ(in[0], out[3]);
  for (Request* s : sends) finish(w[0], s);
}

TEST(ReservedReceive, MessagesThatMatchOthersPassBy) {
  World w(2);
  std::vector<char> a(8), b(8), out = pattern(8, 1);
  Request* kept = reserve(w[1], bytes_of(a), kAnySource, 5);
  Request* r = irecv(w[1], bytes_of(b), 0, 6);
  finish(w[0], isend(w[0], bytes_of(out), 1, 6));
  EXPECT_TRUE(w[1].poll(r, true));
  EXPECT_EQ(b, out);
  EXPECT_FALSE(wanted(kept));
  EXPECT_FALSE(w[1].contested());
  EXPECT_TRUE(w[1].cancel(kept));
}

TEST(ReservedReceive, ALargeStandardSendDoesNotDependOnTheOwner) {
  World w(2);
  std::vector<char> in(1 << 20), out = pattern(1 << 20, 1);
  const std::vector<char> sent = out;
  Request* r = reserve(w[1], bytes_of(in), kAnySource, 5);
  finish(w[0], isend(w[0], bytes_of(out), 1, 5));  // nobody acts for the receiver
  std::fill(out.begin(), out.end(), 0);
  w[1].unreserve(r);
  EXPECT_TRUE(w[1].poll(r, true));
  EXPECT_EQ(in, sent);
}

// Its receive is posted later than it, and cannot take it: the message before may be that receive's.
TEST(ReservedReceive, ASendDoesNotDependOnTheOwnerOfAReceiveThatComesLater) {
  for (const SendMode mode : {SendMode::standard, SendMode::synchronous}) {
    World w(2);
    std::vector<char> a(100), b(1 << 20), one = pattern(100, 1), two = pattern(1 << 20, 2);
    Request* first = reserve(w[1], bytes_of(a), kAnySource, 0);
    Request* s1 = isend(w[0], bytes_of(one), 1, 0, SendMode::synchronous);
    Request* s2 = isend(w[0], bytes_of(two), 1, 2, mode);
    for (int i = 0; i < 10000; i++) ASSERT_FALSE(w[0].poll(s2, true)) << "nobody waits for it";
    Request* second = reserve(w[1], bytes_of(b), kAnySource, kAnyTag);
    EXPECT_TRUE(wanted(first));
    finish(w[0], s2);  // nobody acts for the receiver
    w[1].unreserve(first);
    w[1].unreserve(second);
    EXPECT_TRUE(w[1].poll(first, true));
    EXPECT_TRUE(w[1].poll(second, true));
    EXPECT_EQ(a, one);
    EXPECT_EQ(b, two);
    finish(w[0], s1);
  }
}

TEST(ReservedReceive, ASynchronousSendCompletesLateAndOnlyWhileItsReceiveIsPosted) {
  for (const bool stays : {true, false}) {
    World w(2);
    std::vector<char> in(100), out = pattern(100, 1);
    Request* r = reserve(w[1], bytes_of(in), kAnySource, 5);
    Request* s = isend(w[0], bytes_of(out), 1, 5, SendMode::synchronous);
    for (int i = 0; i < 10000; i++) ASSERT_FALSE(w[0].poll(s, true));
    if (!stays) {
      EXPECT_TRUE(w[1].withdraw(r));
    }
    // It completes after 250 ms.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(stays ? 60'000 : 500);
    bool done = false;
    while (!done && std::chrono::steady_clock::now() < end) done = w[0].poll(s, true);
    EXPECT_EQ(done, stays);
  }
}

// Its receive is another message's, as far as anybody can tell.
TEST(ReservedReceive, ASynchronousSendDoesNotCompleteForTheReceiveOfAnEarlierMessage) {
  World w(3);
  std::vector<char> in(100), out = pattern(100, 1);
  Request* r = reserve(w[2], bytes_of(in), kAnySource, kAnyTag);
  Request* first = isend(w[1], bytes_of(out), 2, 7, SendMode::synchronous);
  Request* second = isend(w[0], bytes_of(out), 2, 5, SendMode::synchronous);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
  while (std::chrono::steady_clock::now() < end) ASSERT_FALSE(w[0].poll(second, true));
  finish(w[1], first);  // after 250 ms
  Request* later = reserve(w[2], bytes_of(in), kAnySource, 5);
  finish(w[0], second);
  for (Request* posted : {r, later}) {
    w[2].unreserve(posted);
    finish(w[2], posted);
  }
}

TEST(ReservedReceive, ASendThatAReceiveCountsOnIsNotCancelled) {
  World w(2);
  std::vector<char> in(100000), out = pattern(100000, 1);
  Request* r = reserve(w[1], bytes_of(in), kAnySource, 5);
  Request* s = isend(w[0], bytes_of(out), 1, 5, SendMode::synchronous);
  EXPECT_FALSE(w[0].cancel(s));
  w[1].unreserve(r);
  EXPECT_TRUE(w[1].poll(r, true));
  EXPECT_TRUE(w[0].poll(s, true));
  EXPECT_EQ(in, out);
}

// Two tasks send to a third whose reserved receives are also satisfied by nobody in this space, at random:
// each message arrives once, those of one sender in their order.
TEST(ReservedReceive, StormOfSendersAndOfMessagesFromElsewhere) {
  constexpr int kMessages = 4000;
  World w(3);
  std::atomic<int> got{0};
  w.run([&](int rank) {
    Engine& e = w[rank];
    std::mt19937 random(static_cast<unsigned>(rank + 1));
    if (rank != 0) {
      for (int i = 0; i < kMessages; i++) {
        const size_t n = random() % 3 == 0 ? 5000 + random() % 90000 : 8 + random() % 300;
        std::vector<char> out(n, static_cast<char>(i));
        finish(e,
               isend(e, bytes_of(out), 0, i, random() % 8 == 0 ? SendMode::synchronous : SendMode::standard));
      }
      return;
    }
    int next[3] = {};
    std::vector<char> in(100000);
    while (got < 2 * kMessages) {
      Request* r = reserve(e, bytes_of(in), kAnySource, kAnyTag);
      const bool elsewhere = random() % 2 == 0;
      const unsigned patience = random() % 200;
      for (unsigned i = 0; i < patience; i++) e.poll(r, true);
      if (elsewhere && e.withdraw(r)) {  // a message from elsewhere
        e.give_request(r);
        continue;
      }
      e.unreserve(r);
      e.wait(r);
      int& expected = next[r->status_source];
      ASSERT_EQ(r->status_tag, expected);
      ASSERT_EQ(first_of(in), static_cast<char>(expected));
      ASSERT_EQ(in[r->status_bytes - 1], static_cast<char>(expected));
      expected++;
      got++;
      e.give_request(r);
    }
  });
  EXPECT_EQ(got, 2 * kMessages);
}

}  // namespace
}  // namespace tasuki::message
