// Non-blocking collective operations without MPI: threads play the tasks of a space, in an order of ranks that
// is not that of slots. Several operations are under way at a time, and end in any order.
#include "message/collectives/nonblocking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "message/test/world.h"

namespace tasuki::message {
namespace {

std::vector<char> piece(int from, int to, size_t n, int round) {
  return pattern(n, static_cast<unsigned>(from * 97 + to * 13 + round));
}

// Buffers of one operation of one task, and what it waits for.
struct Begun {
  std::vector<std::vector<char>> send, got, expected;
  std::vector<layout::Region> out, in;
  Request* rest = nullptr;

  void give(std::vector<char> v) {
    send.push_back(std::move(v));
    out.push_back(bytes_of(send.back()));
  }
  void expect(std::vector<char> v) {
    got.emplace_back(v.size(), 'x');
    in.push_back(bytes_of(got.back()));
    expected.push_back(std::move(v));
  }
};

class Members {
 public:
  explicit Members(int tasks, Protocol protocol = Protocol::automatic, bool oversubscribed = true)
      : tasks_(tasks), world_(tasks, protocol, 64 << 10, 4 << 10, oversubscribed) {
    for (int i = 0; i < tasks; i++) slots_.push_back(tasks - 1 - i);
  }
  // member(rank, engine, parts), where parts(tag, begin) begins an operation: begin(Parts&). Returns its rest.
  template <typename Member>
  void run(Member member) {
    world_.run([&](int slot) {
      const int rank = tasks_ - 1 - slot;
      Engine& engine = world_[slot];
      const message::Member me{kContext, rank, tasks_, slots_.data()};
      member(rank, engine, [&](int32_t tag, auto begin) {
        Parts parts(engine, me, of_pieces(kContext), tag);
        Request* rest = nullptr;
        EXPECT_TRUE(begin(parts));
        EXPECT_TRUE(parts.rest(&rest));
        return rest;
      });
    });
  }

 private:
  int tasks_;
  World world_;
  std::vector<int> slots_;
};

void end(Engine& engine, Begun* b) {
  if (b->rest != nullptr) {
    engine.wait(b->rest);
    EXPECT_EQ(b->rest->truncated, 0);
    engine.give_request(b->rest);
    b->rest = nullptr;
  }
  EXPECT_EQ(b->got, b->expected);
}

// One of the kinds, as `rank` sees it; sizes differ from pair to pair, some are nothing.
template <typename PartsOf>
void begin(Begun* b, int kind, int rank, int tasks, int round, PartsOf parts) {
  const size_t sizes[] = {0, 1, 8, 300, 5000, 200000};
  const auto length = [&](int from, int to) {
    return sizes[static_cast<size_t>(from * 5 + to * 3 + round) % std::size(sizes)];
  };
  const int root = round % tasks;
  const auto at = [&](int from, int to) { return piece(from, to, length(from, to), round); };
  // The buffers of a vector move when it grows.
  for (auto* v : {&b->send, &b->got, &b->expected}) v->reserve(static_cast<size_t>(tasks));
  switch (kind) {
    case 0:
      for (int other = 0; other < tasks; other++) {
        b->give(at(rank, other));
        b->expect(at(other, rank));
      }
      b->rest = parts(round, [&](Parts& p) {
        return begin_exchange(p, {b->out.data(), 1}, {b->in.data(), 1}, true);
      });
      break;
    case 1:
      b->expect(at(root, rank));
      for (int other = 0; rank == root && other < tasks; other++) b->give(at(root, other));
      b->rest = parts(round, [&](Parts& p) {
        return begin_scatter(p, root, {b->out.data(), 1}, b->in[0], true);
      });
      break;
    case 2:
      b->give(at(rank, root));
      for (int other = 0; rank == root && other < tasks; other++) b->expect(at(other, root));
      b->rest = parts(round, [&](Parts& p) {
        return begin_gather(p, root, b->out[0], {b->in.data(), 1}, true);
      });
      break;
    case 3:
      if (rank == root)
        b->give(at(root, root));
      else
        b->expect(at(root, root));
      b->rest = parts(
          round, [&](Parts& p) { return begin_broadcast(p, root, rank == root ? b->out[0] : b->in[0]); });
      break;
    default:
      b->give(at(rank, rank));
      for (int before = 0; before < rank; before++) b->expect(at(before, before));
      b->rest = parts(round, [&](Parts& p) { return begin_scan(p, b->out[0], {b->in.data(), 1}); });
  }
}
constexpr int kKinds = 5;

struct Space {
  int tasks;
  Protocol protocol;
  bool oversubscribed;
};

TEST(Nonblocking, ManyUnderWayEndInAnyOrder) {
  for (const Space& space : {Space{2, Protocol::automatic, false}, Space{2, Protocol::direct, true},
                             Space{3, Protocol::pipelined, true}, Space{5, Protocol::automatic, true},
                             Space{8, Protocol::eager, true}}) {
    Members members(space.tasks, space.protocol, space.oversubscribed);
    members.run([&](int rank, Engine& engine, auto parts) {
      std::mt19937 random(static_cast<unsigned>(rank));
      int round = 0;
      for (int batch = 0; batch < 10; batch++) {
        std::vector<Begun> begun(6);
        for (Begun& b : begun) {
          begin(&b, round % kKinds, rank, space.tasks, round, parts);
          round++;
        }
        std::shuffle(begun.begin(), begun.end(), random);
        for (Begun& b : begun) end(engine, &b);
      }
    });
  }
}

// Each task starts persistent ones in an order of its own, again and again. One that only gives goes ahead.
TEST(Nonblocking, PersistentOnesMeetByTheirNumbers) {
  constexpr int kTasks = 4, kOperations = 2 * kKinds, kStarts = 30;
  Members members(kTasks);
  members.run([&](int rank, Engine& engine, auto parts) {
    std::mt19937 random(static_cast<unsigned>(rank));
    std::vector<int> order(kOperations);
    std::iota(order.begin(), order.end(), 0);
    for (int start = 0; start < kStarts; start++) {
      std::vector<Begun> begun(kOperations);
      std::shuffle(order.begin(), order.end(), random);
      for (const int number : order)
        begin(&begun[static_cast<size_t>(number)], number % kKinds, rank, kTasks, number + 7 * start,
              [&](int32_t, auto what) { return parts(of_persistent(static_cast<uint32_t>(number)), what); });
      std::shuffle(order.begin(), order.end(), random);
      for (const int number : order) end(engine, &begun[static_cast<size_t>(number)]);
    }
  });
}

// Only MPI_Wait waits: whoever begins an operation goes on, whatever the others do.
TEST(Nonblocking, BeginsWithoutTheOthers) {
  constexpr int kTasks = 3;
  Members members(kTasks);
  std::atomic<int> began{0};
  members.run([&](int rank, Engine& engine, auto parts) {
    std::vector<Begun> begun(kKinds);
    for (int turn = 0; turn < kTasks; turn++) {
      if (turn == rank) {
        for (int kind = 0; kind < kKinds; kind++)
          begin(&begun[static_cast<size_t>(kind)], kind, rank, kTasks, kind, parts);
        began++;
      }
      while (began.load() <= turn) std::this_thread::yield();
    }
    for (Begun& b : begun) end(engine, &b);
  });
}

TEST(Nonblocking, TellsOfAPieceThatDoesNotFit) {
  Members members(2);
  members.run([&](int rank, Engine& engine, auto parts) {
    for (const size_t n : {size_t{16}, size_t{5000}, size_t{200000}}) {
      std::vector<char> mine = piece(rank, 0, n, 0), guard(n, 'x');
      const layout::Region out = bytes_of(mine);
      const layout::Region in{guard.data(), rank == 1 ? n - 1 : n, layout::byte_layout()};
      Request* rest = parts(static_cast<int32_t>(n), [&](Parts& p) {
        return begin_exchange(p, {&out, 0}, {&in, 0}, false);
      });
      bool truncated = false;
      if (rest != nullptr) {
        engine.wait(rest);
        truncated = rest->truncated != 0;
        engine.give_request(rest);
      }
      EXPECT_EQ(truncated, rank == 1);
      EXPECT_EQ(guard[n - 1], rank == 1 ? 'x' : piece(1, 0, n, 0)[n - 1]);
    }
  });
}

TEST(Nonblocking, ABarrierEndsWhenAllHaveBegunIt) {
  constexpr int kTasks = 4, kRounds = 200;
  Members members(kTasks);
  std::atomic<int> begun[kRounds] = {};
  members.run([&](int, Engine& engine, auto parts) {
    for (int round = 0; round < kRounds; round++) {
      begun[round]++;
      Request* rest = parts(round, [](Parts& p) { return begin_barrier(p); });
      if (rest != nullptr) {
        engine.wait(rest);
        engine.give_request(rest);
      }
      ASSERT_EQ(begun[round].load(), kTasks);
    }
  });
}

// Of several pieces from one source the first goes to the first place.
TEST(Nonblocking, NeighboursKeepTheOrderOfTheirPieces) {
  constexpr int kTasks = 3;
  Members members(kTasks);
  members.run([&](int rank, Engine& engine, auto parts) {
    const int next = (rank + 1) % kTasks, before = (rank + kTasks - 1) % kTasks;
    // Two pieces each way, one with itself, and a neighbour that is not there.
    const int list[] = {next, before, next, before, kNoNeighbour, rank};
    const Neighbours n{6, 6, list, list, true};
    for (int round = 0; round < 20; round++) {
      Begun b;
      for (auto* v : {&b.send, &b.got, &b.expected}) v->reserve(6);
      const size_t size = round % 2 == 0 ? 40 : 70000;
      for (int i = 0; i < 6; i++) {
        b.give(piece(rank, i, size, round));
        // What goes to the next one in its place 0 comes there from the one before, which is its place 1.
        const int from = list[i];
        const int place = i == 5 ? 5 : i ^ 1;
        if (from == kNoNeighbour)
          b.expect({});
        else
          b.expect(piece(from, place, size, round));
      }
      b.rest = parts(round, [&](Parts& p) {
        return begin_exchange_among(p, n, {b.out.data(), 1}, {b.in.data(), 1});
      });
      end(engine, &b);
    }
  });
}

}  // namespace
}  // namespace tasuki::message
