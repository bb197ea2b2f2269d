// Messages that are too long for the slots of a ring and short enough for its parcel.
#include <random>

#include "message/test/world.h"

namespace tasuki::message {
namespace {

constexpr size_t kSizes[] = {kInlineBytes + 1, 1000, 4096, kParcelBytes - 1, kParcelBytes, kParcelBytes + 1};

Request* send(Engine& e, const std::vector<char>& message, int to, int tag) {
  return isend(e, bytes_of(const_cast<std::vector<char>&>(message)), to, tag);
}

TEST(Parcel, GoesBackAndForth) {
  World w(2);
  constexpr int kTrips = 300;
  for (const size_t size : kSizes) {
    const uint64_t before = w[0].stats().rendezvous + w[1].stats().rendezvous;
    const auto play = [&](int me) {
      for (int i = 0; i < kTrips; i++) {
        const std::vector<char> message = pattern(size, static_cast<unsigned>(i));
        if (me == 0) finish(w[0], send(w[0], message, 1, i));
        expect_receive(w[me], 1 - me, i, message);
        if (me == 1) finish(w[1], send(w[1], message, 0, i));
      }
    };
    std::thread other(play, 1);
    play(0);
    other.join();
    // Each message says that the one before it has been received: the parcel is always free.
    const uint64_t rendezvous = w[0].stats().rendezvous + w[1].stats().rendezvous - before;
    if (size <= kParcelBytes) {
      EXPECT_EQ(rendezvous, 0u) << size;
    }
  }
}

TEST(Parcel, IsNotUsedAgainBeforeItIsReceived) {
  for (const size_t size : kSizes) {
    World w(2);
    std::vector<std::vector<char>> messages;
    std::vector<Request*> sent;
    for (unsigned i = 0; i < 5; i++) messages.push_back(pattern(i % 2 == 0 ? size : 20, i));
    for (const auto& m : messages) sent.push_back(send(w[0], m, 1, 7));
    EXPECT_EQ(sent[0]->state.load() == RequestState::done, size <= kParcelBytes) << size;
    std::thread receiver([&] {
      for (const auto& m : messages) expect_receive(w[1], 0, 7, m);
    });
    for (Request* r : sent) finish(w[0], r);
    receiver.join();
  }
}

// Behind one another, then around the end of the buffer; what has no room goes into cells.
TEST(Parcel, SeveralAreUnderWay) {
  World w(2);
  constexpr size_t kLong = 4096;
  constexpr unsigned kFit = kParcelRoom / kLong;
  std::vector<std::vector<char>> messages;
  unsigned received = 0;
  const auto send_one = [&](size_t size) {
    messages.push_back(pattern(size, static_cast<unsigned>(messages.size())));
    Request* r = send(w[0], messages.back(), 1, 4);
    EXPECT_EQ(r->state.load(), RequestState::done);
    finish(w[0], r);
  };
  const auto receive_one = [&] {
    expect_receive(w[1], 0, 4, messages[received]);
    received++;
  };
  for (unsigned i = 0; i < kFit; i++) send_one(kLong);
  for (int i = 0; i < 3; i++) receive_one();
  // What is left is in the last quarter: one more at the front, and another behind it.
  send_one(kLong - 100);
  send_one(700);
  EXPECT_EQ(w[0].cell_bytes(), 0u);
  while (received < messages.size()) receive_one();
  for (unsigned i = 0; i < 2 * kFit; i++) send_one(kLong);
  EXPECT_GT(w[0].cell_bytes(), 0u);
  while (received < messages.size()) receive_one();
}

TEST(Parcel, ManyOfAllSizesAreUnderWay) {
  World w(2);
  std::mt19937 random(5);
  std::vector<std::vector<char>> messages;
  size_t received = 0;
  for (unsigned i = 0; i < 4000; i++) {
    messages.push_back(pattern(kInlineBytes + 1 + random() % (kParcelBytes - kInlineBytes), i));
    finish(w[0], send(w[0], messages.back(), 1, 4));
    while (messages.size() - received > random() % 20) expect_receive(w[1], 0, 4, messages[received++]);
  }
  while (received < messages.size()) expect_receive(w[1], 0, 4, messages[received++]);
}

// The first one waits for its receive while others use the parcel.
TEST(Parcel, IsEmptiedForAMessageThatNobodyExpects) {
  World w(2);
  const std::vector<char> early = pattern(4096, 1);
  finish(w[0], send(w[0], early, 1, 1));
  for (unsigned i = 2; i < 50; i++) {
    const std::vector<char> other = pattern(5000, i);
    Request* r = send(w[0], other, 1, 2);
    std::thread receiver([&] { expect_receive(w[1], 0, 2, other); });
    finish(w[0], r);
    receiver.join();
  }
  expect_receive(w[1], 0, 1, early);
}

TEST(Parcel, TypedOnBothSidesAndToOneself) {
  World w(1);
  const layout::Layout* rows = layout::make_hvector(100, 40, 104, layout::byte_layout());
  std::vector<char> from = pattern(100 * 104, 3), to(100 * 104);
  const auto region = [&](std::vector<char>& v) { return layout::Region{v.data(), 1, rows}; };
  Request* s = isend(w[0], region(from), 0, 5);
  Request* r = irecv(w[0], region(to), 0, 5);
  finish(w[0], s);
  finish(w[0], r);
  for (size_t i = 0; i < to.size(); i++)
    ASSERT_EQ(to[i], i % 104 < 40 && i < 99 * 104 + 40 ? from[i] : 0) << i;
  layout::release(rows);
}

TEST(Parcel, TooLongForItsReceive) {
  World w(2);
  const std::vector<char> message = pattern(4096, 9);
  std::vector<char> in(1000, 'x'), behind = in;
  finish(w[0], send(w[0], message, 1, 1));
  Request* r = irecv(w[1], {in.data(), 700, layout::byte_layout()}, 0, 1);
  w[1].wait(r);
  EXPECT_NE(r->truncated, 0);
  EXPECT_EQ(r->status_bytes, 700u);
  w[1].give_request(r);
  std::copy(message.begin(), message.begin() + 700, behind.begin());
  EXPECT_EQ(in, behind);
}

// What it keeps for later is not in its senders' credit.
TEST(Parcel, DoesNotFillAReceiverThatWaitsForAnotherMessage) {
  World w(2);
  constexpr unsigned kMessages = 3000;
  std::vector<std::vector<char>> messages;
  std::vector<Request*> sent;
  for (unsigned i = 0; i < kMessages; i++) messages.push_back(pattern(6000, i));
  for (const auto& m : messages) {
    sent.push_back(send(w[0], m, 1, 3));
    w[1].progress();
  }
  EXPECT_GT(w[1].cell_bytes(), Engine::kCredit / 2);
  EXPECT_LT(w[1].cell_bytes(), Engine::kCredit * 2);  // sizes are rounded up
  EXPECT_LT(w[0].cell_bytes(), Engine::kCredit * 2);
  std::thread receiver([&] {
    for (const auto& m : messages) expect_receive(w[1], 0, 3, m);
  });
  for (Request* r : sent) finish(w[0], r);
  receiver.join();
  EXPECT_EQ(w[1].self()->peer(0).ring.kept.load(), 0u);
}

// Two threads of one task find the parcel free at the same time.
TEST(Parcel, SeveralThreadsOfATask) {
  World w(2);
  for (int i = 0; i < 2; i++) {
    Engine::Options o = w[i].options();
    o.threads = true;
    w[i].set_options(o);
  }
  constexpr unsigned kMessages = 5'000, kThreads = 3;
  const auto play = [&](int me, unsigned thread) {
    std::mt19937 random(thread);
    for (unsigned i = 0; i < kMessages; i++) {
      const std::vector<char> message = pattern(kInlineBytes + 1 + random() % 6000, i * kThreads + thread);
      if (me == 0)
        finish(w[0], send(w[0], message, 1, static_cast<int>(thread)));
      else
        expect_receive(w[1], 0, static_cast<int>(thread), message);
    }
  };
  std::vector<std::thread> threads;
  for (int me = 0; me < 2; me++)
    for (unsigned t = 0; t < kThreads; t++) threads.emplace_back(play, me, t);
  for (std::thread& t : threads) t.join();
}

// Both send at once, all sizes, some receives late: what each says of the other's ring must never be too much.
TEST(Parcel, ManyInBothDirections) {
  World w(2);
  constexpr unsigned kMessages = 20'000;
  const auto play = [&](int me) {
    std::mt19937 to_send(static_cast<unsigned>(me)), to_receive(static_cast<unsigned>(1 - me));
    std::vector<Request*> sent;
    std::vector<std::vector<char>> out;
    const auto size = [](std::mt19937& random) { return 1 + random() % (kParcelBytes + 1000); };
    for (unsigned i = 0; i < kMessages;) {
      for (unsigned n = 1 + i % 7; n > 0 && i < kMessages; n--, i++) {
        out.push_back(pattern(size(to_send), i));
        sent.push_back(send(w[me], out.back(), 1 - me, static_cast<int>(i)));
        std::vector<char> in(kParcelBytes + 1000);
        const std::vector<char> expected = pattern(size(to_receive), i);
        Request* r = irecv(w[me], bytes_of(in), 1 - me, static_cast<int>(i));
        w[me].wait(r);
        in.resize(r->status_bytes);
        w[me].give_request(r);
        ASSERT_EQ(in, expected) << i;
      }
      for (Request* r : sent) finish(w[me], r);
      sent.clear();
      out.clear();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
}

}  // namespace
}  // namespace tasuki::message
