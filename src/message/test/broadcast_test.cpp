// Broadcasts without MPI: threads play the tasks of a space.
#include "message/collectives/broadcast.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace tasuki::message {
namespace {

class World {
 public:
  explicit World(int tasks, bool oversubscribed = true, bool threads = false)
      : memory_(std::aligned_alloc(alignof(Board), kMemory)), slots_(static_cast<size_t>(tasks)) {
    memset(memory_, 0, kMemory);
    Board* board = static_cast<Board*>(memory_);
    board->task_count = static_cast<uint32_t>(tasks);
    for (int i = 0; i < tasks; i++) {
      slots_[static_cast<size_t>(i)] = tasks - 1 - i;  // ranks are not slots
      engines_.push_back(std::make_unique<Engine>());
      Engine::Options o{};
      o.eager_bytes = 64 << 10;
      o.transfer = {Protocol::automatic, 16 << 10};
      o.wait = {256, oversubscribed, nullptr};
      o.threads = threads;
      engines_.back()->set_options(o);
      board->member(i).endpoint.store(engines_.back()->make_endpoint(board, i));
      broadcasters_.push_back(std::make_unique<Broadcaster>(*engines_.back()));
    }
  }
  ~World() { free(memory_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int size() const { return static_cast<int>(slots_.size()); }
  int slot(int rank) const { return slots_[static_cast<size_t>(rank)]; }
  Engine& engine(int rank) { return *engines_[static_cast<size_t>(slot(rank))]; }
  Broadcaster& broadcaster(int rank) { return *broadcasters_[static_cast<size_t>(slot(rank))]; }
  Broadcaster::Group group(int rank, uint32_t context = 7) { return {context, rank, size(), slots_.data()}; }
  uint64_t broadcast(int rank, int root, const layout::Region& region, uint32_t context = 7) {
    uint64_t bytes = layout::bytes(region);
    const bool good = rank == root ? broadcaster(rank).send(group(rank, context), region)
                                   : broadcaster(rank).receive(group(rank, context), root, region, &bytes);
    EXPECT_TRUE(good);
    return bytes;
  }
  // Runs body(rank) on a thread for each task.
  void run(const std::function<void(int)>& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < size(); i++) threads.emplace_back(body, i);
    for (std::thread& t : threads) t.join();
  }

 private:
  static constexpr size_t kMemory = (sizeof(Board) + 64 * sizeof(Board::Member)) / 64 * 64;
  void* memory_;
  std::vector<int> slots_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<std::unique_ptr<Broadcaster>> broadcasters_;
};

constexpr uint64_t kSizes[] = {
    1, 40, 41, kInlineBytes, kInlineBytes + 1, 5000, kBroadcastBuffer, kBroadcastBuffer + 1, 100000, 700001};

std::vector<char> pattern(size_t n, unsigned seed) {
  std::vector<char> v(n);
  for (size_t i = 0; i < n; i++) v[i] = static_cast<char>((i * 2654435761u + seed * 40503u) >> 13);
  return v;
}

layout::Region dense(std::vector<char>& v) {
  return {v.data(), v.size(), layout::byte_layout()};
}

TEST(Broadcast, EverySizeFromEveryRoot) {
  for (const bool oversubscribed : {true, false}) {
    World w(3, oversubscribed);
    w.run([&](int rank) {
      for (const uint64_t bytes : kSizes) {
        for (int root = 0; root < w.size(); root++) {
          const std::vector<char> expected = pattern(bytes, static_cast<unsigned>(root + 1));
          std::vector<char> v = rank == root ? expected : std::vector<char>(bytes, 0);
          EXPECT_EQ(w.broadcast(rank, root, dense(v)), bytes);
          ASSERT_EQ(v, expected) << bytes << " bytes from " << root;
        }
      }
    });
  }
}

// The data come bit by bit, some before a receiver looks and some while it waits, asleep or not.
TEST(Broadcast, ReceiversCopyWhatHasCome) {
  for (const bool oversubscribed : {true, false}) {
    World w(3, oversubscribed);
    w.run([&](int rank) {
      constexpr uint64_t kBytes = 500'000, kStep = 70'000;
      const std::vector<char> expected = pattern(kBytes, 3);
      for (int round = 0; round < 5; round++) {
        std::vector<char> v(kBytes, 0);
        if (rank != 1) {
          EXPECT_EQ(w.broadcast(rank, 1, dense(v)), kBytes);
          ASSERT_EQ(v, expected);
          continue;
        }
        Broadcast* b = w.broadcaster(1).open(w.group(1), dense(v), 0);
        ASSERT_NE(b, nullptr);
        for (uint64_t done = 0; done < kBytes;) {
          const uint64_t n = std::min(kStep, kBytes - done);
          memcpy(&v[done], &expected[done], n);
          done += n;
          if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          w.broadcaster(1).advance(w.group(1), b, done);
        }
        w.broadcaster(1).close(b);
      }
    });
  }
}

TEST(Broadcast, ReceiversAreToldThatTheRestNeverComes) {
  World w(2);
  w.run([&](int rank) {
    std::vector<char> v(100'000, 'x');
    if (rank == 1) {
      uint64_t bytes = 0;
      EXPECT_FALSE(w.broadcaster(1).receive(w.group(1), 0, dense(v), &bytes));
      return;
    }
    Broadcast* b = w.broadcaster(0).open(w.group(0), dense(v), 5000);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    w.broadcaster(0).advance(w.group(0), b, kBroken);
    w.broadcaster(0).close(b);
  });
}

// The root's elements are strided, a receiver's are dense, or strided otherwise.
TEST(Broadcast, BothSidesTypedDifferently) {
  World w(3);
  w.run([&](int rank) {
    for (const uint64_t n : {3, 100, 3000, 50000}) {
      const layout::Layout* l = layout::make_hvector(n, 8, 8 + 8 * rank, layout::byte_layout());
      const uint64_t span = n * static_cast<uint64_t>(8 + 8 * rank);
      for (int root = 0; root < w.size(); root++) {
        const std::vector<char> expected = pattern(n * 8, static_cast<unsigned>(root));
        std::vector<char> v(span, 'x');
        if (rank == root) layout::unpack({v.data(), 1, l}, 0, n * 8, expected.data());
        w.broadcast(rank, root, {v.data(), 1, l});
        std::vector<char> packed(n * 8);
        layout::pack(packed.data(), {v.data(), 1, l}, 0, n * 8);
        ASSERT_EQ(packed, expected);
        if (rank != 0) {
          ASSERT_EQ(v[8], 'x');
        }
      }
      layout::release(l);
    }
  });
}

// The root may run ahead by as many buffers as it has, and reuses none that somebody still reads.
TEST(Broadcast, ManyInARowWithLateReceivers) {
  World w(3);
  constexpr int kRounds = 400;
  w.run([&](int rank) {
    for (int round = 0; round < kRounds; round++) {
      const uint64_t bytes = kSizes[static_cast<size_t>(round) % 6] + 1200;
      const std::vector<char> expected = pattern(bytes, static_cast<unsigned>(round));
      std::vector<char> v = rank == 0 ? expected : std::vector<char>(bytes, 0);
      if (rank == 2 && round % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      w.broadcast(rank, 0, dense(v));
      ASSERT_EQ(v, expected) << round;
    }
  });
}

// A rank whose type signature is another one is in error; it gets what fits and learns of it, and nobody
// hangs.
TEST(Broadcast, SizesThatDisagree) {
  World w(2);
  const uint64_t pairs[][2] = {{100, 50}, {50, 100}, {100, 100000}, {100000, 100}, {100000, 40000}};
  w.run([&](int rank) {
    for (const auto& [sent, room] : pairs) {
      const std::vector<char> expected = pattern(sent, 3);
      std::vector<char> v = rank == 0 ? expected : std::vector<char>(room, 'x');
      EXPECT_EQ(w.broadcast(rank, 0, dense(v)), sent);
      for (size_t i = 0; i < v.size(); i++) {
        ASSERT_EQ(v[i], i < sent ? expected[i] : 'x') << i;
      }
    }
  });
}

// Messages of the user wait in the same rings and have the same tags.
TEST(Broadcast, PointToPointMessagesStayApart) {
  World w(2);
  w.run([&](int rank) {
    for (int round = 0; round < 200; round++) {
      for (const uint64_t bytes : {8, 3000, 60000}) {
        std::vector<char> v = pattern(bytes, 5), m = pattern(16, 9);
        if (rank == 0) {
          w.engine(0).send_inline(w.slot(1), 7, round % 2, 0, m.data(), 16);
          w.broadcast(0, 0, dense(v));
          continue;
        }
        std::vector<char> got(bytes), in(16);
        w.broadcast(1, 0, dense(got));
        ASSERT_EQ(got, v);
        Request* r = w.engine(1).take_request();
        r->region = dense(in);
        r->context = 7;
        r->tag = kAnyTag;
        r->peer = kAnySource;
        w.engine(1).receive(r);
        EXPECT_EQ(r->status_tag, round % 2);
        w.engine(1).give_request(r);
        ASSERT_EQ(in, m);
      }
    }
  });
}

TEST(Broadcast, ThreadsOfOneTaskOnContextsOfTheirOwn) {
  World w(2, true, true);
  std::vector<std::thread> all;
  for (int rank = 0; rank < 2; rank++) {
    for (unsigned t = 0; t < 3; t++) {
      all.emplace_back([&, rank, t] {
        for (unsigned round = 0; round < 60; round++) {
          for (const uint64_t bytes : {30, 2000, 90000}) {
            const int root = static_cast<int>((round + t) % 2);
            const std::vector<char> expected = pattern(bytes, round * 8 + t);
            std::vector<char> v = rank == root ? expected : std::vector<char>(bytes, 0);
            w.broadcast(rank, root, dense(v), 20 + t);
            ASSERT_EQ(v, expected);
          }
        }
      });
    }
  }
  for (std::thread& t : all) t.join();
}

}  // namespace
}  // namespace tasuki::message
