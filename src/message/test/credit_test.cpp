// Credit: how much a receiver that receives nothing costs its senders, and what a sender without credit does.
#include <atomic>
#include <chrono>

#include "base/cpu.h"
#include "message/collectives/parts.h"
#include "message/test/world.h"

namespace tasuki::message {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kSome = 512 << 10;  // what rounding of sizes and one full ring may cost beyond the credit

// Sends with nobody receiving: pending requests, in order.
std::vector<Request*> flood(Engine& e, const std::vector<std::vector<char>>& messages, int to) {
  std::vector<Request*> sent;
  for (const std::vector<char>& m : messages)
    sent.push_back(isend(e, bytes_of(const_cast<std::vector<char>&>(m)), to, 3));
  return sent;
}

std::vector<std::vector<char>> messages_of(const std::vector<size_t>& sizes, int count) {
  std::vector<std::vector<char>> all;
  for (int i = 0; i < count; i++)
    all.push_back(pattern(sizes[static_cast<size_t>(i) % sizes.size()], static_cast<unsigned>(i)));
  return all;
}

void send_each(Engine& e, const std::vector<std::vector<char>>& messages) {
  for (const std::vector<char>& m : messages)
    finish(e, isend(e, bytes_of(const_cast<std::vector<char>&>(m)), 1, 3));
}

void receive_each(Engine& e, const std::vector<std::vector<char>>& messages) {
  for (const std::vector<char>& m : messages) {
    std::vector<char> in(m.size());
    Request* r = irecv(e, bytes_of(in), 0, 3);
    e.wait(r);
    ASSERT_EQ(r->status_bytes, m.size());
    e.give_request(r);
    ASSERT_EQ(in, m);
  }
}

void receive_all(World& w, const std::vector<std::vector<char>>& messages, const std::vector<Request*>& sent,
                 int to = 1) {
  std::thread receiver([&] { receive_each(w[to], messages); });
  for (Request* r : sent) finish(w[0], r);
  receiver.join();
}

// Task 1 does `first` until all is sent, and receives then.
void send_before_it_receives(World& w, const std::vector<std::vector<char>>& messages,
                             const std::function<void()>& first) {
  std::atomic<bool> all_sent{false};
  std::thread receiver([&] {
    while (!all_sent.load()) first();
    receive_each(w[1], messages);
  });
  send_each(w[0], messages);
  all_sent.store(true);
  receiver.join();
}

TEST(Credit, BoundsWhatWaitsForAReceiverThatMakesNoCall) {
  for (const auto& sizes : std::vector<std::vector<size_t>>{{8}, {300}, {500, 8}, {3000}, {4096, 16, 1000}}) {
    World w(2);
    const auto messages = messages_of(sizes, 20'000);
    auto sent = flood(w[0], messages, 1);
    EXPECT_LT(w[0].cell_bytes(), Engine::kCredit + kSome) << sizes[0];
    EXPECT_GT(w[0].stats().without_credit, 0u) << sizes[0];
    receive_all(w, messages, sent);
  }
}

TEST(Credit, LargerOnesAreNotPackedWithoutCreditEither) {
  World w(2);
  const auto messages = messages_of({8000}, 2000);
  auto sent = flood(w[0], messages, 1);
  // The sender looks at each often enough to lose patience.
  for (int look = 0; look < 500; look++)
    for (Request* r : sent) w[0].poll(r, false);
  EXPECT_LT(w[0].cell_bytes(), Engine::kCredit + kSome);
  EXPECT_GT(w[0].cell_bytes(), Engine::kCredit / 2);
  receive_all(w, messages, sent);
}

// Plain MPI libraries take small messages whenever the receiver is in a call, and programs count on it.
TEST(Credit, IsExceededBySmallMessagesWhenTheReceiverWaitsForAnother) {
  World w(2);
  const auto messages = messages_of({2000, 100}, 4000);
  std::thread receiver([&] {
    int last = 0;
    Request* r = irecv(w[1], {reinterpret_cast<char*>(&last), sizeof last, layout::byte_layout()}, 0, 9);
    finish(w[1], r);
    EXPECT_EQ(last, 17);
    receive_each(w[1], messages);
  });
  send_each(w[0], messages);
  int last = 17;
  finish(w[0], isend(w[0], {reinterpret_cast<char*>(&last), sizeof last, layout::byte_layout()}, 1, 9));
  receiver.join();
  EXPECT_GT(w[0].stats().without_credit, 0u);
}

// A look for its receive may cost the sender a time slice where ranks outnumber cores.
TEST(Credit, ReceiverThatWaitsForAnotherMessageIsNotWaitedFor) {
  for (const size_t size : {size_t{300}, size_t{kInlineBytes}}) {
    World w(2);
    w[1].self()->waiting.store(1);
    const auto messages = messages_of({size}, 10'000);
    const auto sent = flood(w[0], messages, 1);
    for (const Request* r : sent) ASSERT_EQ(r->state.load(), RequestState::done) << size;
    EXPECT_GT(w[0].cell_bytes(), Engine::kCredit) << size;
    w[1].self()->waiting.store(0);
    receive_all(w, messages, sent);
  }
}

// Each look of this wait takes as long as a time slice; a few of them are enough.
TEST(Credit, PatienceIsTimeWhereALookMayTakeATimeSlice) {
  World w(2);
  std::vector<char> message = pattern(20'000, 1);
  Request* sent = isend(w[0], bytes_of(message), 1, 3);
  ASSERT_EQ(sent->state.load(), RequestState::pending);
  int looks = 0;
  for (; looks < 10 && !w[0].poll(sent, true); looks++) std::this_thread::sleep_for(3ms);
  EXPECT_LT(looks, 3);
  receive_all(w, {message}, {sent});
}

// The receiver polls, but never waits in a call.
TEST(Credit, IsExceededWhenTheReceiverMakesCalls) {
  World w(2);
  Engine::Found found;
  send_before_it_receives(w, messages_of({4096}, 700), [&] { w[1].probe(kContext, 0, 9, &found); });
}

// With a core to itself a sender waits for a receiver that is in calls to make room. One that only keeps what
// comes makes none for more, and holds nobody up.
TEST(Credit, AReceiverThatKeepsMuchIsNotWaitedForWithoutEnd) {
  for (const size_t size : {size_t{256}, size_t{1000}, size_t{4000}, size_t{6000}}) {
    World w(2, Protocol::automatic, 64 << 10, 4 << 10, false);
    const auto messages = messages_of({size}, static_cast<int>(5 * Engine::kCredit / 2 / size));
    Engine::Found found;
    std::atomic<bool> all_sent{false};
    std::thread receiver([&] {
      while (!all_sent.load()) w[1].probe(kContext, 0, 9, &found);
      receive_each(w[1], messages);
    });
    std::vector<Request*> held;
    for (const std::vector<char>& m : messages) {
      const auto bytes = static_cast<uint32_t>(m.size());
      if (bytes > kSmallBytes || !w[0].try_send_small(1, kContext, 3, 0, m.data(), bytes))
        held.push_back(isend(w[0], bytes_of(const_cast<std::vector<char>&>(m)), 1, 3, SendMode::standard, 1));
    }
    all_sent.store(true);
    for (Request* r : held) finish(w[0], r);
    receiver.join();
  }
}

// Nobody else makes room for what a task sends to itself.
TEST(Credit, WhatATaskSendsToItselfIsNotWaitedFor) {
  World w(1, Protocol::automatic, 64 << 10, 4 << 10, false);
  const auto messages = messages_of({4000, 300}, 400);
  std::vector<Request*> sent;
  for (const std::vector<char>& m : messages) {
    if (!w[0].try_send_small(0, kContext, 3, 0, m.data(), static_cast<uint32_t>(m.size())))
      sent.push_back(isend(w[0], bytes_of(const_cast<std::vector<char>&>(m)), 0, 3));
  }
  receive_each(w[0], messages);
  for (Request* r : sent) finish(w[0], r);
}

// It may be in a call of the library that is not seen here: it runs, and nothing else is known.
TEST(Credit, IsExceededInTimeByARunningReceiver) {
  World w(2);
  send_before_it_receives(w, messages_of({4096}, 540), cpu_relax);
}

// What members of a communicator tell each other has no request: it waits for room.
TEST(Credit, InlineSendsWaitForAReceiverThatSleeps) {
  World w(2);
  constexpr int kCount = 60'000;
  std::atomic<int> sent{0};
  std::thread receiver([&] {
    std::this_thread::sleep_for(300ms);
    EXPECT_LT(sent.load(), kCount) << "nothing was held";
    for (int i = 0; i < kCount; i++) {
      int in[16] = {};
      finish(w[1], irecv(w[1], {reinterpret_cast<char*>(in), sizeof in, layout::byte_layout()}, 0, 3));
      ASSERT_EQ(in[0], i);
      ASSERT_EQ(in[15], ~i);
    }
  });
  for (int i = 0; i < kCount; i++) {
    int out[16] = {i};
    out[15] = ~i;
    w[0].send_inline(1, kContext, 3, 0, reinterpret_cast<const char*>(out), sizeof out);
    sent.store(i + 1);
  }
  receiver.join();
}

// Point-to-point messages that nobody has received have all credit; the receiver takes them after what the
// members of the communicator tell each other, which has no request that it could find.
TEST(Credit, DoesNotKeepWhatMembersTellEachOther) {
  for (const bool oversubscribed : {true, false}) {
    World w(2, Protocol::automatic, 64 << 10, 4 << 10, oversubscribed);
    const auto messages = messages_of({3000, 8}, 4000);
    const auto sent = flood(w[0], messages, 1);
    ASSERT_GT(w[0].stats().without_credit, 0u);
    const int slots[] = {0, 1};
    std::thread receiver([&] {
      char in[8] = {};
      Told told;
      ASSERT_TRUE(hear(w[1], {kContext, 1, 2, slots}, 0, {in, sizeof in, layout::byte_layout()}, &told));
      EXPECT_EQ(told.bytes, sizeof in);
      receive_each(w[1], messages);
    });
    tell_others(w[0], {kContext, 0, 2, slots}, 0, "address", 8);
    for (Request* r : sent) finish(w[0], r);
    receiver.join();
  }
}

TEST(Credit, MemoryOfABurstGoesBackToTheSystem) {
  World w(9);
  const auto messages = messages_of({2000, 30'000}, 2 * 130);
  std::vector<std::vector<Request*>> sent;
  for (int to = 1; to < 9; to++) {
    sent.push_back(flood(w[0], messages, to));
    for (int look = 0; look < 2000; look++)
      for (Request* r : sent.back()) w[0].poll(r, false);
  }
  EXPECT_GT(w[0].cell_bytes(), 7 * Engine::kCredit);
  for (int to = 1; to < 9; to++) receive_all(w, messages, sent[static_cast<size_t>(to - 1)], to);
  for (int i = 0; i < 3000; i++) w[0].count_call();
  EXPECT_LT(w[0].cell_bytes(), (4 << 20) + kSome);
}

// A task that is ahead of others in collective operations leaves its pieces where they are, also when their
// receiver waits in a call of MPI.
TEST(Credit, IsNotExceededByPiecesOfCollectiveOperations) {
  World w(2);
  constexpr uint32_t kPieces = of_pieces(kContext);
  const int slots[] = {0, 1};
  const Member me{kContext, 0, 2, slots};
  for (const size_t bytes : {size_t{64}, size_t{3000}}) {
    const auto given = pattern(bytes, 3);
    std::atomic<bool> held{false};
    std::atomic<int> begun{0};
    std::thread receiver([&] {
      w[1].wait_for([&] { return held.load(); });
      for (int i = 0; i < begun.load(); i++) {
        std::vector<char> in(bytes);
        Request* r = make(w[1], bytes_of(in), 0, kBlocking, kPieces);
        w[1].start_receive(r);
        finish(w[1], r);
        ASSERT_EQ(in, given);
      }
    });
    while (w[1].self()->waiting.load() == 0) std::this_thread::yield();
    Request* rest = nullptr;
    while (rest == nullptr && begun.load() < 1'000'000) {
      Parts parts(w[0], me, kPieces, kBlocking);
      EXPECT_TRUE(parts.give(1, bytes_of(const_cast<std::vector<char>&>(given))) && parts.rest(&rest));
      begun++;
    }
    held = true;
    EXPECT_NE(rest, nullptr) << "a million pieces are kept";
    EXPECT_LT(static_cast<uint64_t>(begun.load()) * bytes, 2 * Engine::kCredit);
    if (rest != nullptr) finish(w[0], rest);
    receiver.join();
  }
}

// The protocol that the paper compares with: through a buffer, whatever the size.
TEST(Credit, TheEagerProtocolBuffersLargeMessages) {
  World w(2, Protocol::eager);
  const auto messages = messages_of({1 << 20}, 2);
  for (const auto& m : messages) {
    Request* r = isend(w[0], bytes_of(const_cast<std::vector<char>&>(m)), 1, 3);
    EXPECT_EQ(r->state.load(), RequestState::done);
    w[0].give_request(r);
  }
  EXPECT_EQ(w[0].stats().buffered, 2u);
  receive_all(w, messages, {});
}

}  // namespace
}  // namespace tasuki::message
