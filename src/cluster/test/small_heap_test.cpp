#include "cluster/heap/small_heap.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

namespace tasuki::cluster {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Chunks of ordinary memory. What was given back cannot be touched.
class Source final : public ChunkSource {
 public:
  ~Source() override {
    for (const auto& [p, bytes] : chunks_) munmap(p, bytes);
  }
  void* take(size_t bytes) override {
    const std::lock_guard guard(lock_);
    if (taken_ + bytes > most) return nullptr;
    taken_ += bytes;
    char* const all = static_cast<char*>(mmap(nullptr, bytes + 2 * kMiB, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    char* const p = all + (2 * kMiB - reinterpret_cast<uintptr_t>(all) % (2 * kMiB)) % (2 * kMiB);
    if (p > all) munmap(all, static_cast<size_t>(p - all));
    munmap(p + bytes, 2 * kMiB - static_cast<size_t>(p - all));
    chunks_[p] = bytes;
    return p;
  }
  bool give(void* chunk) override {
    const std::lock_guard guard(lock_);
    const auto found = chunks_.find(chunk);
    EXPECT_NE(found, chunks_.end());
    taken_ -= found->second;
    munmap(chunk, found->second);
    chunks_.erase(found);
    return true;
  }
  bool discard(void* p, size_t bytes) override {
    if (keeps) return false;
    discarded += bytes;
    discards++;
    return madvise(p, bytes, MADV_DONTNEED) == 0;
  }
  size_t chunks() const { return chunks_.size(); }
  size_t taken() const { return taken_; }

  size_t most = SIZE_MAX;
  bool keeps = false;
  std::atomic<size_t> discarded{0}, discards{0};

 private:
  std::mutex lock_;
  std::map<void*, size_t> chunks_;
  size_t taken_ = 0;
};

TEST(SizeClasses, HoldWhatWasAskedForAndAtMostAnEighthMore) {
  for (size_t bytes = 0; bytes <= kMostObject; bytes++) {
    const unsigned size = size_class(bytes);
    ASSERT_LT(size, kSizeClasses);
    ASSERT_GE(class_bytes(size), bytes);
    ASSERT_EQ(class_bytes(size) % 16, 0u);
    ASSERT_LT(size > 0 ? class_bytes(size - 1) : 0, std::max<size_t>(bytes, 1));
    ASSERT_LE(class_bytes(size) - bytes, std::max<size_t>(16, bytes / 8));
  }
}

TEST(SmallHeap, AnObjectOf520BytesTakesLessThanAFifthMore) {
  Source source;
  SmallHeap heap(&source, 1);
  std::vector<char*> all;
  for (int i = 0; i < 100'000; i++) all.push_back(static_cast<char*>(heap.take(520, 64).p));
  EXPECT_LT(source.taken(), 12 * 520 * 10'000);
  for (char* p : all) {
    ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
    ASSERT_EQ(heap.bytes_of(p), 576u);
    ASSERT_TRUE(heap.give(p));
  }
  EXPECT_EQ(source.chunks(), 1u);
}

TEST(SmallHeap, KnowsWhatIsNoObject) {
  Source source;
  SmallHeap heap(&source, 2);
  char* const p = static_cast<char*>(heap.take(100).p);
  int other;
  EXPECT_FALSE(heap.holds(&other));
  EXPECT_FALSE(heap.give(&other));
  EXPECT_TRUE(heap.holds(p + 1));
  EXPECT_FALSE(heap.give(p + 1));
  EXPECT_FALSE(heap.give(p + 112));  // the next one, which nobody has
  EXPECT_EQ(heap.bytes_of(p), 112u);
  EXPECT_TRUE(heap.give(p));
  EXPECT_FALSE(heap.give(p));
  EXPECT_EQ(heap.bytes_of(p), 0u);
}

TEST(SmallHeap, SaysWhatIsZero) {
  Source source;
  SmallHeap heap(&source, 1);
  const SmallHeap::Object first = heap.take(1000), second = heap.take(1000);
  EXPECT_TRUE(first.zero && second.zero);
  memset(first.p, 1, 1000);
  heap.give(first.p);
  const SmallHeap::Object again = heap.take(1000);
  EXPECT_EQ(again.p, first.p);
  EXPECT_FALSE(again.zero);
}

TEST(SmallHeap, WithoutRoomThereIsNothingAndThenThereIs) {
  Source source;
  source.most = 4 * kMiB;
  SmallHeap heap(&source, 1);
  std::vector<void*> all;
  for (void* p; (p = heap.take(60'000).p) != nullptr;) all.push_back(p);
  EXPECT_GT(all.size(), 60u);
  EXPECT_TRUE(heap.give(all.back()));
  EXPECT_EQ(heap.take(60'000).p, all.back());
  for (void* p : all) EXPECT_TRUE(heap.give(p));
  EXPECT_NE(heap.take(16).p, nullptr);
}

TEST(SmallHeap, WhatIsFreeIsDiscardedManyAtOnce) {
  Source source;
  SmallHeap heap(&source, 1);
  std::vector<void*> all;
  for (int i = 0; i < 20'000; i++) all.push_back(heap.take(1024).p);
  for (size_t i = 0; i < all.size(); i++) ASSERT_TRUE(i % 1000 == 0 || heap.give(all[i]));
  EXPECT_GT(source.discarded, 8 * kMiB);
  EXPECT_GE(source.discarded / source.discards, 2 * 64u << 10);
}

TEST(SmallHeap, ASlabThatCannotBeDiscardedIsUsedAgain) {
  Source source;
  source.keeps = true;
  SmallHeap heap(&source, 1);
  std::vector<char*> all;
  for (int i = 0; i < 1000; i++) all.push_back(static_cast<char*>(heap.take(4096).p));
  for (char* p : all) memset(p, 7, 4096);
  for (char* p : all) EXPECT_TRUE(heap.give(p));
  for (int i = 0; i < 1000; i++) {
    const SmallHeap::Object object = heap.take(4096);
    EXPECT_EQ(object.zero, *static_cast<char*>(object.p) == 0);
  }
  EXPECT_EQ(source.discarded, 0u);
}

// Whatever is in use keeps its bytes, what is said to be zero is, and in the end everything goes back.
void use(SmallHeap* heap, unsigned seed, int steps) {
  std::mt19937 random(seed);
  struct Mine {
    unsigned char* p;
    size_t bytes;
    unsigned char byte;
  };
  std::vector<Mine> mine;
  for (int step = 0; step < steps; step++) {
    if (mine.size() < 500 && random() % 5 < 3) {
      const size_t bytes = random() % (size_t{1} << (1 + random() % 18)) + 1,
                   alignment = size_t{16} << random() % 9;
      const SmallHeap::Object object = heap->take(std::min(bytes, SmallHeap::kMost), alignment);
      ASSERT_NE(object.p, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(object.p) % alignment, 0u);
      Mine m{static_cast<unsigned char*>(object.p), std::min(bytes, SmallHeap::kMost),
             static_cast<unsigned char>(random())};
      ASSERT_GE(heap->bytes_of(m.p), m.bytes);
      for (size_t i = 0; object.zero && i < m.bytes; i++) ASSERT_EQ(m.p[i], 0);
      memset(m.p, m.byte, m.bytes);
      mine.push_back(m);
    } else if (!mine.empty()) {
      const size_t which = random() % mine.size();
      const Mine m = mine[which];
      for (size_t i = 0; i < m.bytes; i++) ASSERT_EQ(m.p[i], m.byte);
      ASSERT_TRUE(heap->give(m.p));
      mine[which] = mine.back();
      mine.pop_back();
    }
  }
  for (const Mine& m : mine) ASSERT_TRUE(heap->give(m.p));
}

TEST(SmallHeap, KeepsWhatIsInUse) {
  Source source;
  {
    SmallHeap heap(&source, 2);
    use(&heap, 1, 20'000);
    use(&heap, 2, 20'000);
    EXPECT_LE(source.chunks(), 16u);
  }
  EXPECT_EQ(source.chunks(), 0u);
}

TEST(SmallHeap, ManyThreads) {
  Source source;
  SmallHeap heap(&source, 3);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 6; t++) threads.emplace_back([&heap, t] { use(&heap, t, 6'000); });
  for (std::thread& thread : threads) thread.join();
}

TEST(SmallHeap, WhatOneThreadTakesAnotherOneGives) {
  Source source;
  SmallHeap heap(&source, 2);
  std::vector<void*> all(20'000);
  for (int round = 0; round < 3; round++) {
    std::thread([&] {
      for (size_t i = 0; i < all.size(); i++) all[i] = heap.take(i % 3000 + 1).p;
    }).join();
    for (void* p : all) ASSERT_TRUE(heap.give(p));
  }
}

}  // namespace
}  // namespace tasuki::cluster
