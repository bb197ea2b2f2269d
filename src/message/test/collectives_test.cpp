// Exchanges and reductions without MPI: threads play the tasks of a space, in an order of ranks that is not
// that of slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "message/collectives/exchange.h"
#include "message/collectives/reduction.h"
#include "message/test/maps.h"
#include "message/test/world.h"

namespace tasuki::message {
namespace {

// The members of a communicator.
class Members {
 public:
  // Without `oversubscribed` they wait for each other's posts instead of in a barrier.
  explicit Members(int tasks, bool oversubscribed = true)
      : world_(tasks, Protocol::automatic, 64 << 10, 4 << 10, oversubscribed),
        barrier_(pool_.take(tasks)),
        slots_(static_cast<size_t>(tasks)) {
    for (int i = 0; i < tasks; i++) slots_[static_cast<size_t>(i)] = tasks - 1 - i;
  }
  int count() const { return static_cast<int>(slots_.size()); }
  Barrier& barrier() { return *barrier_; }
  BarrierPool& pool() { return pool_; }
  // Each calls member(rank, meet), where meet() makes the next meeting.
  template <typename Member>
  void run(Member member) {
    run_some(count(), member);
  }
  // The same for the first ranks alone, among themselves.
  template <typename Member>
  void run_some(int ranks, Member member) {
    world_.run([&](int slot) {
      const int rank = count() - 1 - slot;
      if (rank >= ranks) return;
      member(rank, [&](auto operation) {
        Meeting m(world_[slot], *barrier_, {kContext, rank, ranks, slots_.data()});
        operation(m);
      });
    });
  }

 private:
  World world_;
  BarrierPool pool_;
  Barrier* barrier_;
  std::vector<int> slots_;
};

// How many tasks, and whether they outnumber the cores.
struct Space {
  int tasks;
  bool oversubscribed;
};
constexpr Space kSpaces[] = {{1, true},  {2, true},  {3, true},  {4, true},  {5, true},
                             {6, true},  {7, true},  {8, true},  {9, true},  {17, true},
                             {1, false}, {2, false}, {3, false}, {4, false}, {7, false}};
constexpr uint64_t kElements[] = {1, 3, 28, 29, 300, 1000, 5000, 20000};

// Each operation twice in a row and with others in between, so that posts are used again.
TEST(Reduction, KeepsTheOrderOfRanks) {
  for (const Space& space : kSpaces) {
    const int tasks = space.tasks;
    Members members(tasks, space.oversubscribed);
    members.run([&](int rank, auto meet) {
      int round = 0;
      for (const uint64_t n : kElements) {
        for (const bool in_place : {false, true}) {
          const Row all = result(tasks, ++round, n);
          Row mine = row_of(rank, round, n), got(n, Map{7, 7});
          Row& into = in_place ? mine : got;
          meet([&](Meeting& m) { ASSERT_TRUE(reduce_for_all(m, bytes_of(mine), bytes_of(into), n, kMaps)); });
          ASSERT_EQ(into, all) << tasks << " tasks, " << n << " elements, in place: " << in_place;
          if (!in_place) {
            ASSERT_EQ(mine, row_of(rank, round, n));
          }
        }
      }
    });
  }
}

TEST(Reduction, GivesTheRootTheResult) {
  for (const Space& space : kSpaces) {
    const int tasks = space.tasks;
    Members members(tasks, space.oversubscribed);
    members.run([&](int rank, auto meet) {
      int round = 0;
      for (const uint64_t n : kElements) {
        for (const int root : {0, tasks / 2, tasks - 1}) {
          for (const bool in_place : {false, true}) {
            round++;
            Row mine = row_of(rank, round, n), got(n, Map{7, 7});
            const bool at_root = rank == root;
            char* const into = !at_root ? nullptr : in_place ? bytes_of(mine) : bytes_of(got);
            meet([&](Meeting& m) { ASSERT_TRUE(reduce_for_root(m, root, bytes_of(mine), into, n, kMaps)); });
            if (at_root) {
              ASSERT_EQ(in_place ? mine : got, result(tasks, round, n)) << tasks << ", " << n;
            }
            if (!at_root) {
              ASSERT_EQ(mine, row_of(rank, round, n));
            }
          }
        }
      }
    });
  }
}

TEST(Reduction, ScattersTheResult) {
  for (const Space& space : kSpaces) {
    const int tasks = space.tasks;
    Members members(tasks, space.oversubscribed);
    members.run([&](int rank, auto meet) {
      int round = 0;
      for (const uint64_t n : kElements) {
        for (const bool in_place : {false, true}) {
          // Rank r gets the more, the larger r is; the first gets nothing.
          const uint64_t parts = static_cast<uint64_t>(tasks) * static_cast<uint64_t>(tasks - 1) / 2;
          const uint64_t each = parts == 0 ? n : n / parts, r = static_cast<uint64_t>(rank);
          const uint64_t begin = parts == 0 ? 0 : each * (r * (r - 1) / 2), count = parts == 0 ? n : each * r;
          const uint64_t from = r == 0 ? 0 : begin;
          const Row all = result(tasks, ++round, n);
          Row mine = row_of(rank, round, n), got(n, Map{7, 7});
          Row& into = in_place ? mine : got;
          meet([&](Meeting& m) {
            ASSERT_TRUE(reduce_and_scatter(m, bytes_of(mine), bytes_of(into), n, from, count, kMaps));
          });
          for (uint64_t i = 0; i < count; i++) ASSERT_EQ(into[i], all[from + i]) << tasks << ", " << n;
          if (!in_place && count < n) {
            ASSERT_EQ(got[count], (Map{7, 7}));
          }
        }
      }
    });
  }
}

TEST(Reduction, ScansInBothWays) {
  for (const Space& space : kSpaces) {
    const int tasks = space.tasks;
    Members members(tasks, space.oversubscribed);
    members.run([&](int rank, auto meet) {
      int round = 0;
      for (const uint64_t n : kElements) {
        for (const Scan kind : {Scan::inclusive, Scan::exclusive}) {
          for (const bool in_place : {false, true}) {
            round++;
            Row mine = row_of(rank, round, n), got(n, Map{7, 7});
            Row& into = in_place ? mine : got;
            meet([&](Meeting& m) { ASSERT_TRUE(scan(m, kind, bytes_of(mine), bytes_of(into), n, kMaps)); });
            const int before = kind == Scan::inclusive ? rank + 1 : rank;
            if (before != 0) {
              ASSERT_EQ(into, result(before, round, n)) << tasks << ", " << n;
            } else if (!in_place) {
              ASSERT_EQ(got, Row(n, Map{7, 7}));
            }
          }
        }
      }
    });
  }
}

// A scan has the same bits, however long the vectors are: those of going from rank to rank.
TEST(Reduction, ScansNumbersFromLeftToRight) {
  constexpr int kTasks = 6;
  Members members(kTasks);
  const auto numbers = [](int rank, size_t n) {
    std::mt19937_64 random(static_cast<uint64_t>(rank));
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<double> row(n);
    for (double& x : row) x = number(random);
    return row;
  };
  members.run([&](int rank, auto meet) {
    for (const size_t n : {size_t{1}, size_t{100}, size_t{5000}}) {
      std::vector<std::vector<double>> rows;
      std::vector<const char*> vectors;
      for (int i = 0; i <= rank; i++) rows.push_back(numbers(i, n));
      for (const std::vector<double>& row : rows)
        vectors.push_back(reinterpret_cast<const char*>(row.data()));
      std::vector<double> expected(n), got(n);
      fold_vectors(vectors.data(), rank + 1, {0, n}, reinterpret_cast<char*>(expected.data()),
                   kSumsOfDoubles);
      meet([&](Meeting& m) {
        ASSERT_TRUE(
            scan(m, Scan::inclusive, vectors.back(), reinterpret_cast<char*>(got.data()), n, kSumsOfDoubles));
      });
      ASSERT_EQ(got, expected);
    }
  });
}

// Nobody waits for those behind it in a scan, but only as long as there is credit.
TEST(Reduction, AScanIsNotAheadWithoutEnd) {
  Members members(2);
  std::atomic<int> ahead{0};
  constexpr int kScans = 20'000;
  members.run([&](int rank, auto meet) {
    std::vector<double> mine(100, 1), got(mine.size());
    for (int i = 0; i < kScans; i++) {
      if (rank == 1 && i == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        EXPECT_GT(ahead.load(), 0);
        EXPECT_LT(ahead.load(), kScans);
      }
      meet([&](Meeting& m) {
        ASSERT_TRUE(scan(m, Scan::inclusive, reinterpret_cast<const char*>(mine.data()),
                         reinterpret_cast<char*>(got.data()), mine.size(), kSumsOfDoubles));
      });
      if (rank == 0) ahead.store(i + 1);
      ASSERT_EQ(got, std::vector<double>(mine.size(), rank + 1));
    }
  });
}

// The same bits from run to run, on all tasks, wherever an element lies in the vector.
TEST(Reduction, OfFloatingPointNumbersIsTheSameForAllSizes) {
  for (const int tasks : {2, 3, 6, 8}) {
    Members members(tasks);
    std::vector<std::vector<double>> got(static_cast<size_t>(tasks));
    members.run([&](int rank, auto meet) {
      std::mt19937_64 random(static_cast<uint64_t>(rank));
      std::uniform_real_distribution<double> number(-1, 1);
      const double mine = number(random);
      for (const size_t n : {size_t{1}, size_t{20}, size_t{400}, size_t{30000}}) {
        const std::vector<double> send(n, mine);
        std::vector<double> receive(n);
        meet([&](Meeting& m) {
          ASSERT_TRUE(reduce_for_all(m, reinterpret_cast<const char*>(send.data()),
                                     reinterpret_cast<char*>(receive.data()), n, kSumsOfDoubles));
        });
        ASSERT_EQ(std::count(receive.begin(), receive.end(), receive[0]), static_cast<std::ptrdiff_t>(n));
        got[static_cast<size_t>(rank)].push_back(receive[0]);
      }
    });
    for (const std::vector<double>& all : got)
      for (const double sum : all) ASSERT_EQ(sum, got[0][0]) << tasks;
  }
}

char byte(int from, int to, size_t i, int round) {
  return static_cast<char>(from * 31 + to * 7 + static_cast<int>(i) * 3 + round);
}

std::vector<char> piece(int from, int to, size_t n, int round) {
  std::vector<char> v(n);
  for (size_t i = 0; i < n; i++) v[i] = byte(from, to, i, round);
  return v;
}

// A different number of bytes for each pair, some of them none; some tasks show, others post.
TEST(Exchange, GivesEachPieceToItsOwner) {
  for (const Space& space : kSpaces) {
    const int tasks = space.tasks;
    Members members(tasks, space.oversubscribed);
    const auto length = [&](int from, int to, int round) {
      const size_t sizes[] = {0, 1, 8, 20, 200, 3000, 200000};
      const size_t most = from % 2 == round % 2 ? 3 : 7;
      return sizes[static_cast<size_t>(from * 5 + to * 3 + round) % most];
    };
    members.run([&](int rank, auto meet) {
      for (int round = 0; round < 12; round++) {
        std::vector<std::vector<char>> send, got;
        std::vector<layout::Region> out, in;
        for (int other = 0; other < tasks; other++) {
          send.push_back(piece(rank, other, length(rank, other, round), round));
          got.emplace_back(length(other, rank, round), 'x');
        }
        for (std::vector<char>& v : send) out.push_back(message::bytes_of(v));
        for (std::vector<char>& v : got) in.push_back(message::bytes_of(v));
        Moved moved;
        meet([&](Meeting& m) { ASSERT_TRUE(exchange(m, {out.data(), 1}, {in.data(), 1}, true, &moved)); });
        ASSERT_FALSE(moved.too_long);
        for (int other = 0; other < tasks; other++)
          ASSERT_EQ(got[static_cast<size_t>(other)], piece(other, rank, length(other, rank, round), round));
      }
    });
  }
}

TEST(Exchange, TellsOfAPieceThatDoesNotFit) {
  Members members(3);
  members.run([&](int rank, auto meet) {
    for (const size_t n : {size_t{16}, size_t{5000}}) {
      std::vector<char> mine = piece(rank, 0, n, 0), guard(3 * n, 'x');
      std::vector<layout::Region> in;
      const size_t room = rank == 1 ? n - 1 : n;
      for (size_t i = 0; i < 3; i++) in.push_back({guard.data() + i * n, room, layout::byte_layout()});
      const layout::Region out = message::bytes_of(mine);
      Moved moved;
      meet([&](Meeting& m) { ASSERT_TRUE(exchange(m, {&out, 0}, {in.data(), 1}, true, &moved)); });
      ASSERT_EQ(moved.too_long, rank == 1);
      ASSERT_EQ(moved.bytes, 3 * room);
      if (rank == 1) {
        ASSERT_EQ(guard[n - 1], 'x');
      }
    }
  });
}

TEST(Exchange, ScattersAndGathers) {
  for (const Space& space : kSpaces) {
    const int tasks = space.tasks;
    Members members(tasks, space.oversubscribed);
    members.run([&](int rank, auto meet) {
      int round = 0;
      for (const size_t n : {size_t{1}, size_t{100}, size_t{1000}, size_t{5000}}) {
        for (const int root : {0, tasks - 1}) {
          round++;
          const size_t mine = n * static_cast<size_t>(rank + 1);
          std::vector<std::vector<char>> all;
          std::vector<layout::Region> regions;
          for (int other = 0; rank == root && other < tasks; other++)
            all.push_back(piece(root, other, n * static_cast<size_t>(other + 1), round));
          for (std::vector<char>& v : all) regions.push_back(message::bytes_of(v));
          std::vector<char> got(mine, 'x');
          Moved moved;
          meet([&](Meeting& m) {
            ASSERT_TRUE(scatter(m, root, {regions.data(), 1}, message::bytes_of(got), true, &moved));
          });
          ASSERT_EQ(got, piece(root, rank, mine, round));
          for (std::vector<char>& v : all) std::fill(v.begin(), v.end(), 'y');
          std::vector<char> back = piece(rank, root, mine, round);
          meet([&](Meeting& m) {
            ASSERT_TRUE(gather(m, root, message::bytes_of(back), {regions.data(), 1}, true, &moved));
          });
          for (int other = 0; rank == root && other < tasks; other++)
            ASSERT_EQ(all[static_cast<size_t>(other)],
                      piece(other, root, n * static_cast<size_t>(other + 1), round));
        }
      }
    });
  }
}

// Whether pieces are messages only the root knows, by what it has: the others may have more room, or less.
TEST(Exchange, ScattersToOtherSizes) {
  constexpr size_t kShort = 100, kMiddle = 5000, kLong = 20000;
  for (const Space& space : kSpaces) {
    const int tasks = space.tasks;
    Members members(tasks, space.oversubscribed);
    members.run([&](int rank, auto meet) {
      int round = 0;
      for (const size_t n : {kShort, kMiddle, kLong}) {
        for (const size_t room : {kShort, kMiddle, kLong}) {
          round++;
          std::vector<std::vector<char>> all;
          std::vector<layout::Region> regions;
          for (int other = 0; rank == 0 && other < tasks; other++) all.push_back(piece(0, other, n, round));
          for (std::vector<char>& v : all) regions.push_back(message::bytes_of(v));
          std::vector<char> got(room, 'x'), expected = piece(0, rank, n, round);
          expected.resize(room, 'x');
          Moved moved;
          meet([&](Meeting& m) {
            ASSERT_TRUE(scatter(m, 0, {regions.data(), 1}, message::bytes_of(got), rank != 0, &moved));
          });
          if (rank == 0) continue;
          ASSERT_EQ(got, expected);
          ASSERT_EQ(moved.too_long, n > room);
          ASSERT_EQ(moved.bytes, std::min(n, room));
        }
      }
    });
  }
}

// A barrier that served two tasks serves three, the third of which has used it less.
TEST(Meeting, GoesOnWithOtherTasks) {
  for (const bool oversubscribed : {false, true}) {
    Members members(3, oversubscribed);
    const auto sum = [&](int rank, auto meet, int tasks) {
      for (int round = 0; round < 5; round++) {
        for (const uint64_t n : {uint64_t{3}, uint64_t{5000}}) {
          const Row mine = row_of(rank, round, n);
          Row got(n);
          meet([&](Meeting& m) {
            ASSERT_TRUE(
                reduce_for_all(m, reinterpret_cast<const char*>(mine.data()), bytes_of(got), n, kMaps));
          });
          ASSERT_EQ(got, result(tasks, round, n));
        }
      }
    };
    members.run_some(2, [&](int rank, auto meet) { sum(rank, meet, 2); });
    members.pool().give(&members.barrier());
    Barrier* again = members.pool().take(3);
    ASSERT_EQ(again, &members.barrier());
    members.run([&](int rank, auto meet) { sum(rank, meet, 3); });
  }
}

// A task that has left an operation may give the barrier to others while a slow one still reads the posts.
TEST(Meeting, PostsThatAreReadAreNotGivenAway) {
  Members members(2);
  std::atomic<bool> looked{false};
  members.run([&](int rank, auto meet) {
    meet([&](Meeting& m) {
      ASSERT_TRUE(m.open());
      *m.fill_in(1) = 'a';
      m.meet();
      if (rank == 1) {
        while (!looked) std::this_thread::yield();
        EXPECT_EQ(m.of(0).data[0], 'a');
        m.leave_at_once();
        return;
      }
      m.leave_at_once();
      members.pool().give(&members.barrier());
      Barrier* other = members.pool().take(2);
      EXPECT_NE(other, &members.barrier());
      looked = true;
    });
  });
  EXPECT_EQ(members.pool().take(2), &members.barrier());
}

}  // namespace
}  // namespace tasuki::message
