// Partitioned communication without MPI: threads play the two sides.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "message/partitioned/channel.h"
#include "message/test/world.h"

namespace tasuki::message {
namespace {

constexpr int kTag = 3;

// One side of a channel.
class Side {
 public:
  Side(Engine& e, layout::Region region, int peer, RequestKind kind, uint32_t partitions, int tag = kTag)
      : engine_(e), channels_(e), request_(make(e, region, peer, tag, partitioned(kContext))) {
    if (kind == RequestKind::send)
      EXPECT_TRUE(channels_.open_send(request_, partitions));
    else
      channels_.open_receive(request_, partitions);
  }
  void start() { channels_.start(request_); }
  bool ready(uint32_t i) { return channels_.ready(request_, i); }
  bool arrived(uint32_t i) { return Channels::arrived(request_, i); }
  bool done() { return engine_.poll(request_, false); }
  void wait() { engine_.wait(request_); }
  bool has_met() { return Channels::has_met(request_); }
  Request& request() { return *request_; }
  void close() {
    Channels::close(request_);
    engine_.give_request(request_);
  }

 private:
  Engine& engine_;
  Channels channels_;
  Request* request_;
};

Side sender(World& w, layout::Region region, uint32_t partitions, int tag = kTag) {
  return Side(w[0], region, 1, RequestKind::send, partitions, tag);
}
Side receiver(World& w, layout::Region region, uint32_t partitions, int tag = kTag) {
  return Side(w[1], region, 0, RequestKind::receive, partitions, tag);
}

void mark_all(Side& s, uint32_t partitions) {
  for (uint32_t i = 0; i < partitions; i++) EXPECT_TRUE(s.ready(i));
}

TEST(Partitioned, EachSideMayComeFirst) {
  World w(2);
  for (const bool receiver_first : {false, true}) {
    std::vector<char> out = pattern(4000, 1), in(4000);
    Side first = receiver_first ? receiver(w, bytes_of(in), 4) : sender(w, bytes_of(out), 4);
    EXPECT_EQ(first.has_met(), !receiver_first);  // a send has its channel from the beginning
    Side second = receiver_first ? sender(w, bytes_of(out), 4) : receiver(w, bytes_of(in), 4);
    EXPECT_TRUE(first.has_met());
    EXPECT_TRUE(second.has_met());
    first.close();
    second.close();
  }
}

TEST(Partitioned, WhatIsReadyIsThereAtOnceIfTheReceiverHasStarted) {
  World w(2);
  std::vector<char> out = pattern(4000, 1), in(4000);
  Side r = receiver(w, bytes_of(in), 4);
  r.start();  // before there is a sender
  Side s = sender(w, bytes_of(out), 4);
  s.start();
  for (const uint32_t i : {2u, 0u, 3u}) {
    EXPECT_FALSE(r.arrived(i));
    EXPECT_TRUE(s.ready(i));
    EXPECT_TRUE(r.arrived(i));
    EXPECT_EQ(memcmp(&in[i * 1000], &out[i * 1000], 1000), 0);
  }
  EXPECT_FALSE(s.ready(2));  // for the second time
  EXPECT_FALSE(r.done());
  EXPECT_FALSE(s.done());
  s.ready(1);
  EXPECT_TRUE(r.done());
  EXPECT_TRUE(s.done());
  EXPECT_EQ(in, out);
  EXPECT_EQ(r.request().status_bytes, 4000u);
  EXPECT_EQ(r.request().status_source, 0);
  EXPECT_EQ(r.request().status_tag, kTag);
  s.close();
  r.close();
}

TEST(Partitioned, ALateReceiverTakesWhatIsReadyAndCompletesTheSender) {
  World w(2);
  std::vector<char> out = pattern(4000, 1), in(4000);
  Side s = sender(w, bytes_of(out), 4);
  s.start();
  mark_all(s, 4);
  EXPECT_FALSE(s.done());
  Side r = receiver(w, bytes_of(in), 2);
  EXPECT_FALSE(s.done());
  r.start();
  EXPECT_TRUE(s.done());
  EXPECT_TRUE(r.done());
  EXPECT_EQ(in, out);
  // The sender is one epoch ahead: that is not taken for the present one.
  s.start();
  const std::vector<char> next = pattern(4000, 2);
  std::copy(next.begin(), next.end(), out.begin());
  mark_all(s, 4);
  EXPECT_TRUE(r.arrived(1));
  EXPECT_EQ(in, pattern(4000, 1));
  r.start();
  EXPECT_EQ(in, out);
  s.close();
  r.close();
}

TEST(Partitioned, SidesMayDivideTheBytesDifferently) {
  World w(2);
  std::vector<char> out = pattern(6000, 1), in(6000);
  Side s = sender(w, bytes_of(out), 6), r = receiver(w, bytes_of(in), 4);  // 1000 and 1500 bytes
  s.start();
  r.start();
  const auto arrived = [&] {
    return std::vector<bool>{r.arrived(0), r.arrived(1), r.arrived(2), r.arrived(3)};
  };
  s.ready(1);
  EXPECT_EQ(arrived(), (std::vector<bool>{false, false, false, false}));
  s.ready(0);
  EXPECT_EQ(arrived(), (std::vector<bool>{true, false, false, false}));
  s.ready(2);
  s.ready(5);
  s.ready(4);
  EXPECT_EQ(arrived(), (std::vector<bool>{true, true, false, true}));
  s.ready(3);
  EXPECT_EQ(arrived(), (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(in, out);
  s.close();
  r.close();
}

TEST(Partitioned, FromLayoutToLayout) {
  World w(2);
  // 240 blocks of 8 bytes in 240 elements of 24, and in 20 elements of 12 blocks that are 40 apart.
  const layout::Layout* block = layout::make_dense(8);
  const layout::Layout* sparse = layout::make_resized(0, 24, block);
  const layout::Layout* rows = layout::make_hvector(12, 1, 40, block);
  std::vector<char> out = pattern(240 * 24, 1), in(20 * 12 * 40), expected(in.size());
  for (size_t i = 0; i < 240; i++) memcpy(&expected[i / 12 * 448 + i % 12 * 40], &out[i * 24], 8);
  Side s = sender(w, {out.data(), 240, sparse}, 16), r = receiver(w, {in.data(), 20, rows}, 10);
  s.start();
  for (uint32_t i = 0; i < 16; i += 2) s.ready(i);
  r.start();
  for (uint32_t i = 1; i < 16; i += 2) s.ready(i);
  EXPECT_TRUE(r.done());
  EXPECT_EQ(in, expected);
  s.close();
  r.close();
  for (const layout::Layout* l : {block, sparse, rows}) layout::release(l);
}

// Large ones are shared with idle tasks, and the parts begin where they should.
TEST(Partitioned, LargePartitions) {
  World w(2);
  const size_t kBytes = 3 * (200 << 10);
  std::vector<char> out = pattern(kBytes, 1), in(kBytes);
  Side s = sender(w, bytes_of(out), 3), r = receiver(w, bytes_of(in), 1);
  s.start();
  s.ready(1);
  r.start();
  s.ready(2);
  s.ready(0);
  EXPECT_TRUE(r.done());
  EXPECT_EQ(in, out);
  s.close();
  r.close();
}

TEST(Partitioned, TooLongForItsReceive) {
  World w(2);
  std::vector<char> out = pattern(4000, 1), in(3000, 'x');
  Side s = sender(w, bytes_of(out), 4), r = receiver(w, {in.data(), 2500, layout::byte_layout()}, 5);
  s.start();
  r.start();
  mark_all(s, 4);
  EXPECT_TRUE(r.done());
  EXPECT_TRUE(s.done());
  EXPECT_EQ(r.request().truncated, 1);
  EXPECT_EQ(r.request().status_bytes, 2500u);
  EXPECT_EQ(r.request().envelope.bytes, 4000u);
  EXPECT_EQ(memcmp(in.data(), out.data(), 2500), 0);
  EXPECT_EQ(in[2500], 'x');
  s.close();
  r.close();
}

TEST(Partitioned, NoBytes) {
  World w(2);
  Side s = sender(w, {nullptr, 0, layout::byte_layout()}, 3),
       r = receiver(w, {nullptr, 0, layout::byte_layout()}, 2);
  r.start();
  s.start();
  s.ready(0);
  s.ready(1);
  EXPECT_FALSE(r.arrived(0));
  s.ready(2);
  EXPECT_TRUE(r.arrived(0));
  EXPECT_TRUE(r.done());
  s.close();
  r.close();
}

// In the order in which they are made, also when some are closed before their receives come.
TEST(Partitioned, MeetInOrder) {
  World w(2);
  char out[4] = {'a', 'b', 'c', 'd'}, in[4] = {};
  std::vector<Side> s, r;
  const auto one = [](char* at) { return layout::Region{at, 1, layout::byte_layout()}; };
  r.push_back(receiver(w, one(&in[0]), 1));
  for (char& c : out) s.push_back(sender(w, one(&c), 1));
  s[1].close();
  for (int i = 1; i < 4; i++) r.push_back(receiver(w, one(&in[i]), 1));
  r[1].close();
  for (const size_t i : {3u, 0u, 2u}) {
    s[i].start();
    s[i].ready(0);
    r[i].start();
    EXPECT_TRUE(r[i].done());
    EXPECT_EQ(in[i], out[i]);
    s[i].close();
    r[i].close();
  }
}

TEST(Partitioned, WithOneself) {
  World w(1);
  std::vector<char> out = pattern(800, 1), in(800);
  Side s(w[0], bytes_of(out), 0, RequestKind::send, 8), r(w[0], bytes_of(in), 0, RequestKind::receive, 2);
  s.start();
  for (uint32_t i = 0; i < 4; i++) s.ready(i);
  r.start();
  for (uint32_t i = 4; i < 8; i++) s.ready(i);
  r.wait();
  s.wait();
  EXPECT_EQ(in, out);
  s.close();
  r.close();
}

// Both sides run as they like; plain buffers, so that ThreadSanitizer sees an access that nothing orders.
TEST(Partitioned, ManyEpochs) {
  constexpr uint32_t kPartitions = 12;
  constexpr size_t kBytes = kPartitions * 100;
  constexpr unsigned kEpochs = 2000;
  World w(2);
  w.run([&](int task) {
    std::vector<char> buffer(kBytes);
    std::mt19937 random(static_cast<unsigned>(task));
    Side side = task == 0 ? sender(w, bytes_of(buffer), kPartitions) : receiver(w, bytes_of(buffer), 8);
    std::vector<uint32_t> order(kPartitions);
    std::iota(order.begin(), order.end(), 0u);
    for (unsigned e = 0; e < kEpochs; e++) {
      const std::vector<char> expected = pattern(kBytes, e);
      if (task == 0) {
        side.start();
        std::shuffle(order.begin(), order.end(), random);
        for (const uint32_t i : order) {
          std::copy_n(expected.begin() + i * 100, 100, buffer.begin() + i * 100);
          side.ready(i);
        }
      } else {
        side.start();
        for (uint32_t j = random() % 8; e % 3 == 0 && j < 8; j++) {
          while (!side.arrived(j)) std::this_thread::yield();
          ASSERT_EQ(memcmp(&buffer[j * 150], &expected[j * 150], 150), 0);
        }
      }
      side.wait();
      ASSERT_TRUE(task == 0 || buffer == expected);
      std::fill(buffer.begin(), buffer.end(), 'x');
    }
    side.close();
  });
}

TEST(Partitioned, SeveralThreadsSayThatTheirsAreReady) {
  constexpr uint32_t kThreads = 4;
  constexpr size_t kEach = 500;
  constexpr unsigned kEpochs = 40;
  World w(2);
  w.run([&](int task) {
    Engine::Options several = w[task].options();
    several.threads = true;
    w[task].set_options(several);
    std::vector<char> buffer(kThreads * kEach);
    Side side = task == 0 ? sender(w, bytes_of(buffer), kThreads) : receiver(w, bytes_of(buffer), kThreads);
    for (unsigned e = 0; e < kEpochs; e++) {
      const std::vector<char> expected = pattern(buffer.size(), e);
      side.start();
      std::vector<std::thread> threads;
      for (uint32_t t = 0; t < kThreads; t++)
        threads.emplace_back([&, t] {
          const auto from = static_cast<std::ptrdiff_t>(t * kEach);
          if (task == 0) {
            std::copy_n(expected.begin() + from, kEach, buffer.begin() + from);
            side.ready(t);
          } else {
            while (!side.arrived(t)) std::this_thread::yield();
            EXPECT_TRUE(
                std::equal(expected.begin() + from, expected.begin() + from + kEach, buffer.begin() + from));
          }
        });
      side.wait();
      for (std::thread& t : threads) t.join();
    }
    side.close();
  });
}

}  // namespace
}  // namespace tasuki::message
