// Barriers without MPI: threads play the tasks of a space.
#include "message/collectives/barrier.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace tasuki::message {
namespace {

class World {
 public:
  World(int tasks, bool oversubscribed)
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
      engines_.back()->set_options(o);
      board->member(i).endpoint.store(engines_.back()->make_endpoint(board, i));
    }
  }
  ~World() { free(memory_); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int size() const { return static_cast<int>(slots_.size()); }
  const int* slots() const { return slots_.data(); }
  Engine& engine(int rank) { return *engines_[static_cast<size_t>(slots_[static_cast<size_t>(rank)])]; }
  template <typename Body>
  void run(Body body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < size(); i++) threads.emplace_back(body, i);
    for (std::thread& t : threads) t.join();
  }

 private:
  static constexpr size_t kMemory = (sizeof(Board) + 512 * sizeof(Board::Member)) / 64 * 64;
  void* memory_;
  std::vector<int> slots_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

// Nobody is a step ahead of anybody that has not arrived, whatever shape the tree has.
void check(int tasks, bool oversubscribed, int rounds) {
  World w(tasks, oversubscribed);
  BarrierPool pool;
  Barrier* b = pool.take(tasks);
  ASSERT_NE(b, nullptr);
  std::vector<std::atomic<int>> step(static_cast<size_t>(tasks));
  w.run([&](int rank) {
    for (int i = 1; i <= rounds; i++) {
      if ((i + rank) % 7 == 0) std::this_thread::yield();
      step[static_cast<size_t>(rank)].store(i, std::memory_order_relaxed);
      enter_barrier(w.engine(rank), *b, rank, tasks, w.slots());
      for (const std::atomic<int>& other : step) {
        const int at = other.load(std::memory_order_relaxed);
        ASSERT_TRUE(at == i || at == i + 1) << "round " << i << ": " << at << ", " << tasks << " tasks";
      }
    }
  });
}

TEST(Barrier, HoldsUntilAllHaveArrived) {
  for (const int tasks : {1, 2, 3, 15, 16, 17, 33}) check(tasks, true, 100);
}

TEST(Barrier, HoldsWithoutSleeping) {
  check(2, false, 2000);
}

TEST(Barrier, HoldsOnThreeLevels) {
  check(260, true, 3);
}

// A task that comes late finds the others asleep and wakes them all.
TEST(Barrier, SleepersAreWoken) {
  World w(4, true);
  BarrierPool pool;
  Barrier* b = pool.take(4);
  w.run([&](int rank) {
    for (int i = 0; i < 4; i++) {
      if (rank == i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      enter_barrier(w.engine(rank), *b, rank, 4, w.slots());
    }
  });
  EXPECT_EQ(b->generation.load(), 4u);
}

// A message that fills the ring of a task in a barrier is taken in.
TEST(Barrier, MessagesComeInMeanwhile) {
  World w(2, true);
  BarrierPool pool;
  Barrier* b = pool.take(2);
  constexpr int kMessages = 1000;
  std::vector<int> got(kMessages);
  w.run([&](int rank) {
    if (rank == 0) {
      for (int i = 0; i < kMessages; i++)
        w.engine(0).send_inline(w.slots()[1], 7, i, 0, reinterpret_cast<const char*>(&i), sizeof i);
      enter_barrier(w.engine(0), *b, 0, 2, w.slots());
      return;
    }
    std::vector<Request*> requests;
    for (int i = 0; i < kMessages / 2; i++) {
      Request* r = w.engine(1).take_request();
      r->region = {reinterpret_cast<char*>(&got[static_cast<size_t>(i)]), sizeof(int), layout::byte_layout()};
      r->context = 7;
      r->tag = i;
      r->peer = w.slots()[0];
      w.engine(1).start_receive(r);
      requests.push_back(r);
    }
    enter_barrier(w.engine(1), *b, 1, 2, w.slots());
    for (Request* r : requests) w.engine(1).wait(r);
  });
  for (int i = 0; i < kMessages / 2; i++) ASSERT_EQ(got[static_cast<size_t>(i)], i);
}

TEST(BarrierPool, GivesBackWhatFits) {
  BarrierPool pool;
  Barrier* two = pool.take(2);
  Barrier* many = pool.take(1000);
  ASSERT_NE(two, nullptr);
  ASSERT_NE(many, nullptr);
  EXPECT_NE(pool.take(2), two);
  pool.give(many);
  pool.give(two);
  EXPECT_EQ(pool.take(3), two);  // as many counters
  EXPECT_NE(pool.take(40), many);
  EXPECT_EQ(pool.take(1000), many);
}

}  // namespace
}  // namespace tasuki::message
