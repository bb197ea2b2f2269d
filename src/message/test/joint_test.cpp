// Reductions that do not block, without MPI: threads play the tasks of a space, in an order of ranks that is
// not that of slots. Several operations are under way at a time, and end in any order.
#include "message/collectives/joint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "message/test/maps.h"
#include "message/test/world.h"

namespace tasuki::message {
namespace {

enum class Kind : uint8_t { for_all, for_root, scattered, scan, scan_exclusive };

bool scans(Kind k) {
  return k == Kind::scan || k == Kind::scan_exclusive;
}

class Members {
 public:
  explicit Members(int tasks, bool oversubscribed = true)
      : world_(tasks, Protocol::automatic, 64 << 10, 4 << 10, oversubscribed) {
    for (int i = 0; i < tasks; i++) slots_.push_back(tasks - 1 - i);
  }
  int count() const { return static_cast<int>(slots_.size()); }
  template <typename Body>
  void run(Body body) {
    world_.run([&](int slot) { body(count() - 1 - slot); });
  }
  Engine& engine(int rank) { return world_[slots_[static_cast<size_t>(rank)]]; }
  Member member(int rank) const { return {kContext, rank, count(), slots_.data()}; }

 private:
  World world_;
  std::vector<int> slots_;
};

// One operation of one task, begun.
class Operation {
 public:
  Operation(Members& members, int rank, JointPool& pool, int round, Kind kind, uint64_t elements,
            bool in_place)
      : engine_(members.engine(rank)), send_(row_of(rank, round, elements)), tasks_(members.count()) {
    const int root = round % tasks_;
    const bool gets = kind == Kind::for_root ? rank == root : kind != Kind::scan_exclusive || rank != 0;
    combined_ = !scans(kind) ? tasks_ : rank + (kind == Kind::scan ? 1 : 0);
    std::optional<Scan> scan;
    if (scans(kind)) scan = kind == Kind::scan ? Scan::inclusive : Scan::exclusive;
    const std::vector<uint64_t> ends = kind == Kind::scattered ? cut(elements) : std::vector<uint64_t>{};
    const size_t me = static_cast<size_t>(rank);
    begin_ = ends.empty() || rank == 0 ? 0 : ends[me - 1];
    count_ = !gets ? 0 : (ends.empty() ? elements : ends[me]) - begin_;
    const bool replaces = in_place && gets;
    receive_.assign(replaces ? 0 : count_ + 1, Map{7, 7});
    into_ = replaces ? &send_ : &receive_;
    round_ = round;
    joint_ = std::make_unique<JointReduction>(
        engine_, members.member(rank),
        JointVectors{bytes_of(send_), gets ? bytes_of(*into_) : nullptr, elements}, ends, kMaps, scan);
    Parts parts(engine_, members.member(rank), of_pieces(kContext), round);
    EXPECT_TRUE(joint_->begin(parts, pool));
  }
  bool look() { return joint_->look(); }
  void wait() {
    engine_.wait_for([this] { return look(); });
  }
  void check() const {
    const Row all = result(combined_, round_, send_.size());
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto end = begin + static_cast<std::ptrdiff_t>(count_);
    ASSERT_TRUE(std::equal(begin, end, into_->begin()))
        << tasks_ << " tasks, round " << round_ << ", " << send_.size() << " elements";
    ASSERT_TRUE(into_ != &receive_ || receive_.back() == (Map{7, 7}));
  }

 private:
  // Unevenly; some get nothing.
  std::vector<uint64_t> cut(uint64_t elements) const {
    std::vector<uint64_t> ends(static_cast<size_t>(tasks_), elements);
    for (size_t i = 0; i + 1 < ends.size(); i++) ends[i] = elements * (i * i % 7 + i) / (ends.size() + 6);
    std::sort(ends.begin(), ends.end());
    return ends;
  }

  Engine& engine_;
  Row send_, receive_;
  Row* into_;
  int tasks_, round_, combined_;
  uint64_t begin_, count_;
  std::unique_ptr<JointReduction> joint_;
};

constexpr Kind kKinds[] = {Kind::for_all, Kind::for_root, Kind::scattered, Kind::scan, Kind::scan_exclusive};

TEST(Joint, ManyUnderWayEndInAnyOrder) {
  for (const auto& [tasks, oversubscribed] :
       {std::pair{1, true}, {2, false}, {2, true}, {3, true}, {5, true}, {8, true}}) {
    Members members(tasks, oversubscribed);
    std::vector<JointPool> pools(static_cast<size_t>(tasks));
    members.run([&](int rank) {
      std::mt19937 random(static_cast<unsigned>(rank));
      int round = 0;
      for (int batch = 0; batch < 2; batch++) {
        std::vector<std::unique_ptr<Operation>> begun;
        for (const Kind kind : kKinds)
          for (const uint64_t n : {1, 257, 2000, 9000})
            for (const bool in_place : {false, true})
              begun.push_back(std::make_unique<Operation>(members, rank, pools[static_cast<size_t>(rank)],
                                                          round++, kind, n, in_place));
        std::shuffle(begun.begin(), begun.end(), random);
        for (const auto& o : begun) {
          o->wait();
          o->check();
        }
      }
    });
  }
}

// Whoever has begun need not look again for the others to end.
TEST(Joint, EndsWhereverSomebodyWaits) {
  constexpr int kTasks = 4;
  Members members(kTasks);
  std::vector<JointPool> pools(kTasks);
  for (const Kind kind : kKinds) {
    std::atomic<int> ended{0};
    members.run([&](int rank) {
      Operation o(members, rank, pools[static_cast<size_t>(rank)], static_cast<int>(kind), kind, 30000, true);
      // One after the other: the first does everything.
      while (ended.load() != rank) std::this_thread::yield();
      o.wait();
      o.check();
      ended++;
    });
  }
}

// Only what nobody looks at any more is used again.
TEST(Joint, UsesMemoryAgain) {
  JointPool pool;
  JointUnits* const first = pool.take(2);
  ASSERT_NE(first, nullptr);
  first->taken = first->done = 5;
  first->left = 1;
  JointUnits* const second = pool.take(3);
  EXPECT_NE(second, first);
  first->left = 2;
  EXPECT_EQ(pool.take(1), first);
  EXPECT_EQ(first->taken.load() + first->done.load(), 0u);
  EXPECT_EQ(first->left.load(), 0);
  // More than one slab of them.
  std::vector<JointUnits*> more{first, second};
  for (int i = 0; i < 300; i++) more.push_back(pool.take(2));
  std::sort(more.begin(), more.end());
  EXPECT_EQ(std::adjacent_find(more.begin(), more.end()), more.end());
}

constexpr size_t kNumbers = 5000;

std::vector<std::vector<double>> numbers_of(int tasks) {
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < tasks; i++) {
    std::mt19937_64 random(static_cast<uint64_t>(i));
    std::uniform_real_distribution<double> number(-1, 1);
    rows.emplace_back(kNumbers);
    for (double& x : rows.back()) x = number(random);
  }
  return rows;
}

std::vector<const char*> addresses_of(const std::vector<std::vector<double>>& rows) {
  std::vector<const char*> vectors;
  for (const std::vector<double>& row : rows) vectors.push_back(reinterpret_cast<const char*>(row.data()));
  return vectors;
}

// Each task's result of sums.
template <typename Check>
void sum(int tasks, const std::vector<const char*>& vectors, std::optional<Scan> scan, Check check) {
  Members members(tasks);
  std::vector<JointPool> pools(static_cast<size_t>(tasks));
  members.run([&](int rank) {
    std::vector<double> got(kNumbers);
    const size_t me = static_cast<size_t>(rank);
    JointReduction joint(members.engine(rank), members.member(rank),
                         {vectors[me], reinterpret_cast<char*>(got.data()), kNumbers}, {}, kSumsOfDoubles,
                         scan);
    Parts parts(members.engine(rank), members.member(rank), of_pieces(kContext), 1);
    ASSERT_TRUE(joint.begin(parts, pools[me]));
    members.engine(rank).wait_for([&] { return joint.look(); });
    check(rank, got);
  });
}

// The same bits as those of operations that block.
TEST(Joint, GroupsAsOthersDo) {
  for (const int tasks : {2, 3, 7}) {
    const std::vector<std::vector<double>> rows = numbers_of(tasks);
    const std::vector<const char*> vectors = addresses_of(rows);
    std::vector<double> expected(kNumbers);
    combine_vectors(vectors.data(), tasks, {0, kNumbers}, reinterpret_cast<char*>(expected.data()),
                    kSumsOfDoubles, false);
    sum(tasks, vectors, std::nullopt, [&](int, const std::vector<double>& got) { ASSERT_EQ(got, expected); });
  }
}

TEST(Joint, ScansAsOthersDo) {
  for (const int tasks : {2, 3, 7})
    for (const Scan kind : {Scan::inclusive, Scan::exclusive}) {
      const std::vector<std::vector<double>> rows = numbers_of(tasks);
      const std::vector<const char*> vectors = addresses_of(rows);
      sum(tasks, vectors, kind, [&](int rank, const std::vector<double>& got) {
        std::vector<double> expected(kNumbers);
        const int ranks = rank + (kind == Scan::inclusive ? 1 : 0);
        if (ranks != 0)
          fold_vectors(vectors.data(), ranks, {0, kNumbers}, reinterpret_cast<char*>(expected.data()),
                       kSumsOfDoubles);
        ASSERT_EQ(got, expected);
      });
    }
}

}  // namespace
}  // namespace tasuki::message
