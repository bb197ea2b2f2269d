// A pager that serves real faults, for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "os/process/signals.h"
#include "pager/mappers/mapper.h"
#include "pager/pager.h"
#include "pager/stores/ram_store.h"
#include "pager/test/fake_memory.h"

namespace tasuki::pager {

// A pager that serves, with a store that answers at once (`direct`) or late and out of order.
class Running {
 public:
  explicit Running(Options options, uint64_t slots = 20'000, bool direct = true) {
    if (direct) {
      Result<std::unique_ptr<RamStore>> made = RamStore::create(unit_size(), slots);
      EXPECT_TRUE(made.ok());
      store_ = std::move(made.value());
    } else {
      auto made = std::make_unique<SlowStore>(slots, SlowStore::Behaviour{.run = 1000, .patience = 3}, 1);
      slow_ = made.get();
      store_ = std::move(made);
    }
    options.lost = lose;
    Result<std::unique_ptr<Pager>> pager = Pager::create(options, store_.get());
    status_ = pager.status();
    if (!pager.ok()) return;
    pager_ = std::move(pager.value());
    if (options.threadless) return;
    const os::SignalsBlocked blocked;
    serving_ = std::thread([this] {
      const Status served = pager_->serve();
      if (!served.ok()) lose(served);
    });
  }
  ~Running() {
    if (pager_ == nullptr) return;
    pager_->stop();
    if (serving_.joinable()) serving_.join();
  }

  const Status& status() const { return status_; }
  Pager* operator->() const { return pager_.get(); }
  const SlowStore& slow_store() const { return *slow_; }
  template <class T = uint64_t>
  T* allocate(size_t bytes, size_t alignment = 64, size_t page_bytes = 0) const {
    Result<void*> got = pager_->allocate(bytes, alignment, page_bytes);
    EXPECT_TRUE(got.ok()) << got.status().message();
    return got.ok() ? static_cast<T*>(got.value()) : nullptr;
  }

 private:
  // As a program would: no access to cluster memory returns any more.
  static void lose(const Status& why) {
    fprintf(stderr, "serve: %s\n", why.message().c_str());
    _exit(99);
  }

  std::unique_ptr<Store> store_;
  const SlowStore* slow_ = nullptr;
  std::unique_ptr<Pager> pager_;
  std::thread serving_;
  Status status_;
};

#define SKIP_IF_NOT_PERMITTED(running) \
  if (!(running).status().ok()) GTEST_SKIP() << "not permitted here: " << (running).status().message()

inline Options small(Faults way, uint64_t units = 128) {
  Options options;
  options.faults = way;
  options.local_bytes = units * unit_size();
  return options;
}

// The same with pages of one unit, of which none comes unasked.
inline Options single_units(Faults way, uint64_t units) {
  Options options = small(way, units);
  options.page_bytes = unit_size();
  options.prefetch = Prefetch::off;
  return options;
}

inline const uint64_t kWords = unit_size() / 8;  // of a unit

// Each unit's first word becomes its number.
inline void number_units(uint64_t* words, uint64_t units) {
  for (uint64_t u = 0; u < units; u++) words[u * kWords] = u;
}

inline void expect_numbers(const uint64_t* words, uint64_t first, uint64_t end) {
  for (uint64_t u = first; u < end; u++) ASSERT_EQ(words[u * kWords], u);
}

// Threads that add one to random words of shared pages, many more than are local. Each visit of a page makes
// a few increments, so that pages leave between two of them often enough and the test ends.
inline void hammer(uint64_t* words, uint64_t units, int threads, uint64_t total) {
  constexpr uint64_t kVisit = 50;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; t++)
    all.emplace_back([=] {
      std::mt19937_64 random(static_cast<uint64_t>(t));
      for (uint64_t done = 0; done < total / static_cast<uint64_t>(threads); done += kVisit) {
        uint64_t* unit = words + random() % units * kWords;
        for (uint64_t i = 0; i < kVisit; i++)
          std::atomic_ref(unit[random() % kWords]).fetch_add(1, std::memory_order_relaxed);
      }
    });
  for (std::thread& t : all) t.join();
  const uint64_t each = (total / static_cast<uint64_t>(threads) + kVisit - 1) / kVisit * kVisit;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < units * kWords; i++) sum += words[i];
  EXPECT_EQ(sum, each * static_cast<uint64_t>(threads)) << "updates are lost";
}

}  // namespace tasuki::pager
