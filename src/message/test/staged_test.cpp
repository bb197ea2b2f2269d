// Messages that go through their sender's staging buffer without a meeting of the two sides.
#include "message/transfers/staged.h"

#include <random>

#include "message/test/world.h"

namespace tasuki::message {
namespace {

constexpr size_t kSizes[] = {kParcelBytes + 1, 12345, 65536, 65537, 200000, kMostStaged, kMostStaged + 1};

// Everybody is in a call of MPI as far as others see.
class Waiting : public World {
 public:
  explicit Waiting(int tasks, Protocol protocol = Protocol::pipelined, uint64_t eager = 2 * kMostStaged)
      : World(tasks, protocol, eager, 4 << 10, false) {
    for (int i = 0; i < tasks; i++) (*this)[i].self()->waiting.store(1);
  }
};

Request* send(Engine& e, const std::vector<char>& message, int to, int tag) {
  return isend(e, bytes_of(const_cast<std::vector<char>&>(message)), to, tag, SendMode::standard, 1);
}

bool is_done(const Request* r) {
  return r->state.load() == RequestState::done;
}

TEST(Staged, IsSentWhenItIsPacked) {
  for (const size_t size : kSizes) {
    Waiting w(2);
    const std::vector<char> message = pattern(size, 1);
    Request* s = send(w[0], message, 1, 5);
    EXPECT_EQ(is_done(s), size <= kMostStaged) << size;
    std::thread receiver([&] { expect_receive(w[1], 0, 5, message); });
    finish(w[0], s);
    receiver.join();
  }
}

// The buffer is there for it, unless nothing is to be buffered.
TEST(Staged, StandardSendsNeedNotBeEager) {
  for (const size_t size : {size_t{20000}, size_t{200000}, kMostStaged}) {
    for (const uint64_t eager : {0, 4096}) {
      Waiting w(2, Protocol::pipelined, eager);
      const std::vector<char> message = pattern(size, 1);
      std::vector<char> other = message;
      Request* s = send(w[0], message, 1, 5);
      EXPECT_EQ(is_done(s), eager != 0) << size;
      Request* synchronous = isend(w[0], bytes_of(other), 1, 6, SendMode::synchronous, 1);
      EXPECT_FALSE(is_done(synchronous)) << size;
      std::thread receiver([&] {
        expect_receive(w[1], 0, 5, message);
        expect_receive(w[1], 0, 6, message);
      });
      finish(w[0], s);
      finish(w[0], synchronous);
      receiver.join();
    }
  }
}

TEST(Staged, GoesBackAndForth) {
  constexpr int kTrips = 300;
  for (const size_t size : kSizes) {
    Waiting w(2);
    w.run([&](int me) {
      for (int i = 0; i < kTrips; i++) {
        const std::vector<char> message = pattern(size, static_cast<unsigned>(i));
        if (me == 0) finish(w[0], send(w[0], message, 1, i));
        expect_receive(w[me], 1 - me, i, message);
        if (me == 1) finish(w[1], send(w[1], message, 0, i));
      }
    });
    // Each has been received before the next one in the same direction.
    if (size <= kMostStaged) {
      EXPECT_EQ(w[0].stats().rendezvous + w[1].stats().rendezvous, 0u) << size;
    }
  }
}

// The receiver moves it out of the way of what it waits for; then the buffer is free.
TEST(Staged, IsKeptForALaterReceive) {
  Waiting w(2);
  const std::vector<char> first = pattern(40000, 1), second = pattern(50000, 2), third = pattern(100, 3);
  std::vector<char> sent = first;
  Request* s = send(w[0], sent, 1, 1);
  ASSERT_TRUE(is_done(s));
  std::fill(sent.begin(), sent.end(), 0);
  finish(w[0], send(w[0], third, 1, 3));
  expect_receive(w[1], 0, 3, third);
  Request* again = send(w[0], second, 1, 2);
  EXPECT_TRUE(is_done(again));
  expect_receive(w[1], kAnySource, 2, second);
  expect_receive(w[1], 0, 1, first);
  finish(w[0], s);
  finish(w[0], again);
}

TEST(Staged, AShorterReceiveTakesWhatFits) {
  for (const size_t room : {size_t{0}, size_t{1}, size_t{5000}, size_t{8192}, size_t{29999}}) {
    Waiting w(2);
    const std::vector<char> message = pattern(30000, 1);
    std::vector<char> in(30000, 7), expected(30000, 7);
    std::copy_n(message.begin(), room, expected.begin());
    finish(w[0], send(w[0], message, 1, 3));
    Request* r = irecv(w[1], {in.data(), room, layout::byte_layout()}, 0, 3);
    w[1].wait(r);
    EXPECT_EQ(r->truncated, 1);
    EXPECT_EQ(r->status_bytes, room);
    EXPECT_EQ(r->envelope.bytes, 30000u);
    w[1].give_request(r);
    EXPECT_EQ(in, expected) << room;
    Request* next = send(w[0], message, 1, 4);
    EXPECT_TRUE(is_done(next));
    expect_receive(w[1], 0, 4, message);
    finish(w[0], next);
  }
}

// Into a cell, where the first message waits for its receive.
TEST(Staged, TheBufferIsEmptiedForTheNext) {
  Waiting w(3);
  const std::vector<char> a = pattern(30000, 1), b = pattern(30000, 2);
  Request *first = send(w[0], a, 1, 1), *second = send(w[0], b, 2, 2);
  EXPECT_TRUE(is_done(first));
  EXPECT_TRUE(is_done(second));
  std::thread other([&] { expect_receive(w[2], 0, 2, b); });
  finish(w[0], second);
  other.join();
  expect_receive(w[1], 0, 1, a);
  finish(w[0], first);
}

// The receive has it then, and its owner unpacks.
TEST(Staged, ItsSenderMayFindTheReceive) {
  Waiting w(2);
  const std::vector<char> message = pattern(30000, 1);
  std::vector<char> in(message.size()), more(20000);
  Request* r = irecv(w[1], bytes_of(in), kAnySource, 1);
  finish(w[0], send(w[0], message, 1, 1));
  Request* next = isend(w[0], bytes_of(more), 1, 2, SendMode::synchronous, 1);  // looks into the ring
  EXPECT_EQ(r->state.load(), RequestState::active);
  EXPECT_FALSE(w[1].cancel(r));
  Request* other = send(w[0], message, 1, 3);
  EXPECT_FALSE(is_done(other));  // the buffer is the receive's
  EXPECT_TRUE(w[1].poll(r, false));
  EXPECT_EQ(r->status_bytes, message.size());
  finish(w[1], r);
  EXPECT_EQ(in, message);
  EXPECT_TRUE(w[0].cancel(next));
  finish(w[0], next);
  std::thread receiver([&] { expect_receive(w[1], 0, 3, message); });
  finish(w[0], other);
  receiver.join();
}

// Its place among the messages of its sender stays the same in a cell.
TEST(Staged, KeepsTheOrderInACell) {
  Waiting w(2);
  std::vector<std::vector<char>> messages;
  for (unsigned i = 0; i < 6; i++) messages.push_back(pattern(i % 3 == 2 ? 100 : 20000 + i, i));
  for (const auto& m : messages) finish(w[0], send(w[0], m, 1, 7));
  for (const auto& m : messages) expect_receive(w[1], 0, 7, m);
}

TEST(Staged, AProbeFindsIt) {
  Waiting w(2);
  const std::vector<char> message = pattern(20000, 1);
  finish(w[0], send(w[0], message, 1, 9));
  Engine::Found found;
  ASSERT_TRUE(w[1].probe(kContext, kAnySource, kAnyTag, &found));
  EXPECT_EQ(found.bytes, message.size());
  EXPECT_EQ(found.tag, 9);
  Envelope* m = w[1].take_message(kContext, 0, 9, &found);
  ASSERT_NE(m, nullptr);
  std::vector<char> in(message.size());
  Request* r = make(w[1], bytes_of(in), 0, 9);
  w[1].receive_message(r, m);
  finish(w[1], r);
  EXPECT_EQ(in, message);
}

// Others go by the way that their receive and what is learned of them say.
TEST(Staged, OnlyWhatMayBeBufferedAndIsWaitedFor) {
  Waiting w(2);
  std::vector<char> message = pattern(20000, 1);
  Request* synchronous = isend(w[0], bytes_of(message), 1, 1, SendMode::synchronous, 1);
  EXPECT_FALSE(is_done(synchronous));
  EXPECT_TRUE(w[0].cancel(synchronous));
  Request* later = isend(w[0], bytes_of(message), 1, 1);
  EXPECT_FALSE(is_done(later));
  EXPECT_TRUE(w[0].cancel(later));
  finish(w[0], synchronous);
  finish(w[0], later);
}

// A receiver that waits for something else does not collect without end.
TEST(Staged, WhatIsKeptCountsAgainstTheCredit) {
  Waiting w(2);
  const std::vector<char> message = pattern(65536, 1);
  std::vector<Request*> sent;
  Engine::Found found;
  uint64_t done = 0;
  while (sent.size() < 200) {
    sent.push_back(send(w[0], message, 1, 1));
    if (!is_done(sent.back())) break;
    done += message.size();
    EXPECT_FALSE(w[1].probe(kContext, 0, 2, &found));
  }
  EXPECT_LT(done, Engine::kCredit + 10 * message.size());
  EXPECT_GT(done, Engine::kCredit / 2);
  std::thread receiver([&] {
    for (size_t i = 0; i < sent.size(); i++) expect_receive(w[1], 0, 1, message);
  });
  for (Request* s : sent) finish(w[0], s);
  receiver.join();
}

// What the receiver learns of staged messages reaches the sender: with another way they are staged no more.
TEST(Staged, TheReceiverSaysWhatIsLearned) {
  Waiting w(2, Protocol::automatic);
  const std::vector<char> message = pattern(12000, 1);
  Request* s = send(w[0], message, 1, 5);
  EXPECT_FALSE(is_done(s));  // dense, and nothing is known of it
  expect_receive(w[1], 0, 5, message);
  finish(w[0], s);
  StagedHead head;
  s = make(w[0], bytes_of(const_cast<std::vector<char>&>(message)), 1, 5);
  ASSERT_TRUE(open_staged(s, &head));
  close_staged(*w[0].self()->staging);
  w[0].give_request(s);
  w[0].self()->staging->hints[head.key % kHints].store(static_cast<uint32_t>(head.key >> 32) | 1);
  s = send(w[0], message, 1, 5);
  EXPECT_TRUE(is_done(s));
  expect_receive(w[1], 0, 5, message);
  finish(w[0], s);
  s = send(w[0], message, 1, 5);
  EXPECT_FALSE(is_done(s));
  expect_receive(w[1], 0, 5, message);
  finish(w[0], s);
}

// Sizes and layouts as they come, to several at once.
TEST(Staged, Random) {
  for (const Protocol protocol : {Protocol::pipelined, Protocol::automatic}) {
    constexpr int kTasks = 3, kRounds = 400;
    Waiting w(kTasks, protocol);
    const layout::Layout* sparse = layout::make_hvector(1, 12, 20, layout::byte_layout());
    const layout::Layout* block = layout::make_resized(0, 20, sparse);
    w.run([&](int me) {
      const int to = (me + 1) % kTasks, from = (me + kTasks - 1) % kTasks;
      for (int i = 0; i < kRounds; i++) {
        std::mt19937 random(static_cast<unsigned>(i));  // the same for all
        const uint64_t count = random() % 6000 + 1;
        const bool send_sparse = random() % 2 != 0, receive_sparse = random() % 2 != 0,
                   any = random() % 3 == 0;
        std::vector<char> out = pattern(count * 20, static_cast<unsigned>(i * kTasks + me)), in(count * 20);
        const auto region = [&](std::vector<char>& v, bool is_sparse) {
          return is_sparse ? layout::Region{v.data(), count, block}
                           : layout::Region{v.data(), count * 12, layout::byte_layout()};
        };
        Request* r = random() % 2 != 0 ? irecv(w[me], region(in, receive_sparse), any ? kAnySource : from, i)
                                       : nullptr;
        Request* s = isend(w[me], region(out, send_sparse), to, i, SendMode::standard, 1);
        if (r == nullptr) r = irecv(w[me], region(in, receive_sparse), any ? kAnySource : from, i);
        finish(w[me], s);
        w[me].wait(r);
        ASSERT_EQ(r->status_bytes, count * 12);
        w[me].give_request(r);
        const std::vector<char> sent = pattern(count * 20, static_cast<unsigned>(i * kTasks + from));
        for (uint64_t k = 0; k < count * 12; k++) {
          const uint64_t gap = k / 12 * 20 + k % 12;
          ASSERT_EQ(in[receive_sparse ? gap : k], sent[send_sparse ? gap : k]) << "round " << i;
        }
      }
    });
    layout::release(block);
    layout::release(sparse);
  }
}

}  // namespace
}  // namespace tasuki::message
