// Windows without MPI: threads play the members.
#include "message/windows/window.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "message/test/world.h"

namespace tasuki::message {
namespace {

constexpr int kMembers = 4;

// The window of all tasks of a world, each with one number of memory.
class Members {
 public:
  Members() : world_(kMembers), numbers_(kMembers) {
    for (int i = 0; i < kMembers; i++) windows_.push_back(std::make_unique<Window>(world_[i]));
  }
  // Runs body(index, window) in each task, between the making of the window and its end.
  template <typename Body>
  void run(Body body) {
    world_.run([&](int i) {
      Window& w = *windows_[static_cast<size_t>(i)];
      ASSERT_TRUE(w.open(group(i), part(i)));
      body(i, w);
      w.synchronise();
      w.close();
    });
  }
  Window::Group group(int i) {
    int* slots = static_cast<int*>(malloc(sizeof(int) * kMembers));
    for (int s = 0; s < kMembers; s++) slots[s] = s;
    return {kContext, i, kMembers, slots};
  }
  WindowPart* part(int i) {
    WindowPart* p = WindowPart::make(kMembers);
    p->base = reinterpret_cast<char*>(&numbers_[static_cast<size_t>(i)]);
    if (i == 0) p->barrier = barriers_.take(kMembers);
    return p;
  }
  Window& window(int i) { return *windows_[static_cast<size_t>(i)]; }
  World& world() { return world_; }
  // A plain number: ThreadSanitizer sees an access that nothing orders.
  static int& number(Window& w, int of) { return *reinterpret_cast<int*>(w.part(of).base); }

 private:
  World world_;
  std::vector<int> numbers_;
  BarrierPool barriers_;
  std::vector<std::unique_ptr<Window>> windows_;
};

TEST(Window, MembersSeeEachOthersParts) {
  Members m;
  m.run([&](int i, Window& w) {
    Members::number(w, (i + 1) % kMembers) = 10 * i;
    w.synchronise();
    EXPECT_EQ(Members::number(w, i), 10 * ((i + kMembers - 1) % kMembers));
  });
}

TEST(Window, ExclusiveLocksExclude) {
  constexpr int kRounds = 500;
  Members m;
  m.run([&](int, Window& w) {
    for (int r = 0; r < kRounds; r++) {
      w.lock_exclusive(2);
      Members::number(w, 2)++;
      w.unlock_exclusive(2);
    }
    w.synchronise();
    w.lock_shared(2);
    EXPECT_EQ(Members::number(w, 2), kMembers * kRounds);
    w.unlock_shared(2);
  });
}

// Readers come and go all the time; each sees two equal numbers, and the writer gets its turns.
TEST(Window, SharedLocksDoNotStarveAnExclusiveOne) {
  constexpr int kWrites = 200;
  Members m;
  std::atomic<bool> over{false};
  m.run([&](int i, Window& w) {
    for (int r = 0; i == 0 && r < kWrites; r++) {
      w.lock_exclusive(0);
      w.lock_exclusive(1);
      Members::number(w, 0)++;
      Members::number(w, 1)++;
      w.unlock_exclusive(1);
      w.unlock_exclusive(0);
    }
    if (i == 0) over = true;
    while (!over) {
      w.lock_shared(0);
      w.lock_shared(1);
      EXPECT_EQ(Members::number(w, 0), Members::number(w, 1));
      w.unlock_shared(1);
      w.unlock_shared(0);
    }
  });
}

TEST(Window, AnAccessWaitsForItsExposureAndTheExposureForAllAccesses) {
  constexpr int kRounds = 300;
  Members m;
  m.run([&](int i, Window& w) {
    const int right = (i + 1) % kMembers, left = (i + kMembers - 1) % kMembers;
    for (int r = 0; r < kRounds; r++) {
      w.post(left);
      w.post(right);
      w.start(left);
      w.start(right);
      Members::number(w, right) = r;  // only the left neighbour writes
      w.complete(left);
      w.complete(right);
      if (r % 2 == 0)
        w.wait(2);
      else
        while (!w.test(2)) std::this_thread::yield();
      EXPECT_EQ(Members::number(w, i), r);
    }
  });
}

TEST(Window, AMemberWithoutMemoryMakesItNobodys) {
  Members m;
  m.world().run([&](int i) {
    EXPECT_FALSE(m.window(i).open(m.group(i), i == 1 ? nullptr : m.part(i)));
    m.window(i).close();
  });
}

}  // namespace
}  // namespace tasuki::message
