// Servers in this process that come to their ends, and a program beside a model of what it wrote.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "cluster/transport/cluster_store.h"

namespace tasuki::cluster {

inline constexpr size_t kUnit = 64 << 10;  // 16 in a segment
inline constexpr size_t kBytes = 64;       // of each part, that are looked at

// Servers in this process. Transfers happen when progress() is called, some of them, in any order: data of a
// put are taken then, and so are those of a get.
class FakeCourier final : public Courier {
 public:
  FakeCourier(size_t servers, uint32_t seed, size_t part)
      : Courier(std::vector<std::string>(servers, "of a test"), true),
        random_(seed),
        part_(part),
        memory_(servers) {}

  Status get(uint32_t server, uint64_t slot, uint32_t units, std::byte* to, uint64_t token) override {
    return add({server, slot, units, to, nullptr, token});
  }
  Status put(uint32_t server, uint64_t slot, uint32_t units, const std::byte* from, uint64_t token) override {
    return add({server, slot, units, nullptr, from, token});
  }
  bool may_release(uint32_t) const override { return random_() % 4 != 0; }
  Status release(uint32_t server, const Range* ranges, uint32_t count) override {
    for (uint32_t i = 0; i < count && alive(server); i++)
      for (uint64_t slot = ranges[i].slot; slot < ranges[i].slot + ranges[i].units; slot++) {
        for (const Transfer& t : under_way_)
          EXPECT_FALSE(t.server == server && t.slot <= slot && slot < t.slot + t.units)
              << "released, and in use";
        memory_[server].erase(slot);
      }
    return {};
  }
  Status progress(std::vector<uint64_t>* completed, std::vector<uint64_t>* lost) override {
    for (size_t n = random_() % 4; n > 0 && !under_way_.empty(); n--) {
      const size_t i = random_() % under_way_.size();
      const Transfer t = under_way_[i];
      under_way_.erase(under_way_.begin() + static_cast<ptrdiff_t>(i));
      for (uint32_t k = 0; k < t.units; k++) {
        if (t.from != nullptr) {
          Page& page = memory_[t.server][t.slot + k];
          memcpy(page.data(), t.from + k * part_, kBytes);
        } else {
          const auto page = memory_[t.server].find(t.slot + k);
          EXPECT_TRUE(page != memory_[t.server].end()) << "of a slot that was never put";
          if (page != memory_[t.server].end()) memcpy(t.to + k * part_, page->second.data(), kBytes);
        }
      }
      completed->push_back(t.token);
    }
    lost->insert(lost->end(), lost_.begin(), lost_.end());
    lost_.clear();
    return {};
  }
  int longest_rest_ms() override { return -1; }
  bool busy() const override { return !under_way_.empty() || !lost_.empty(); }
  void finish() override {}
  void goodbye(int, bool) override {}

  void end(uint32_t server) { lose(server, " has ended"); }
  void ask_to_leave(uint32_t server) { wants_to_leave(server); }
  size_t pages() const {
    return std::accumulate(memory_.begin(), memory_.end(), size_t{0},
                           [](size_t sum, const auto& pages) { return sum + pages.size(); });
  }
  void forget() {
    std::for_each(memory_.begin(), memory_.end(), [](auto& pages) { pages.clear(); });
  }

 private:
  using Page = std::array<std::byte, kBytes>;
  struct Transfer {
    uint32_t server;
    uint64_t slot;
    uint32_t units;
    std::byte* to;
    const std::byte* from;
    uint64_t token;
  };
  Status add(const Transfer& t) {
    if (!alive(t.server)) {
      lost_.push_back(t.token);
      return {};
    }
    for (const Transfer& o : under_way_)
      EXPECT_FALSE(o.server == t.server && o.slot < t.slot + t.units && t.slot < o.slot + o.units &&
                   (o.from != nullptr || t.from != nullptr))
          << "two transfers of slot " << t.slot << " of server " << t.server;
    under_way_.push_back(t);
    return {};
  }
  void give_up(uint32_t server) override {
    for (const Transfer& t : under_way_)
      if (t.server == server) lost_.push_back(t.token);
    std::erase_if(under_way_, [server](const Transfer& t) { return t.server == server; });
    memory_[server].clear();
  }

  mutable std::mt19937 random_;
  const size_t part_;
  std::vector<std::map<uint64_t, Page>> memory_;
  std::vector<Transfer> under_way_;
  std::vector<uint64_t> lost_;
};

// Random gets, puts and releases of the store's first slots, and what they must find.
class Program {
 public:
  Program(const std::vector<uint64_t>& capacities, Fill fill, uint32_t seed, Redundancy redundancy = {2, 1})
      : random_(seed), part_(redundancy.part(kUnit)) {
    auto courier = std::make_unique<FakeCourier>(capacities.size(), seed, part_);
    courier_ = courier.get();
    std::vector<Lender> lenders(capacities.size());
    for (size_t i = 0; i < lenders.size(); i++) {
      lenders[i].name = "server " + std::to_string(i);
      lenders[i].slots = capacities[i];
    }
    Result<std::unique_ptr<ReedSolomon>> code = ReedSolomon::load_for(redundancy);
    EXPECT_TRUE(code.ok()) << code.status().message();
    store_ = std::make_unique<ClusterStore>(std::move(lenders), std::move(courier), kUnit, fill, redundancy,
                                            std::move(code.value()));
    EXPECT_TRUE(store_->reserve(store_->slots()).ok());
    versions_.resize(store_->slots());
    taken_.resize(store_->slots());
    for (uint64_t slot = 0; slot < store_->slots(); slot++) limits_.push_back(store_->run_limit(slot));
    memory_.resize(kMost * kLongest * kUnit);
    for (size_t i = 0; i < kMost; i++) idle_.push_back(i);
  }

  ClusterStore& store() { return *store_; }
  FakeCourier& courier() { return *courier_; }

  Status run(int operations, uint64_t slots) {
    Status status;
    for (int i = 0; i < operations && status.ok(); i++) {
      if (idle_.empty() || random_() % 3 == 0) status = progress();
      if (status.ok() && !idle_.empty()) status = one(slots);
    }
    return status;
  }
  // Until nothing is under way, copies that are made again included.
  Status settle() {
    Status status;
    while (status.ok() && store_->busy()) status = progress();
    return status.ok() ? progress() : status;
  }
  Status put_and_settle(uint64_t slot) {
    versions_[slot] = ++version_;
    const Status status = start({false, slot, 1});
    return status.ok() ? settle() : status;
  }
  Status release_and_settle(uint64_t slot) {
    versions_[slot] = 0;
    const Status status = store_->release(slot, 1);
    return status.ok() ? settle() : status;
  }
  // Everything that was put is there.
  Status verify() {
    Status status = settle();
    for (uint64_t slot = 0; slot < versions_.size() && status.ok(); slot++) {
      if (versions_[slot] == 0) continue;
      status = start({true, slot, 1});
      if (status.ok()) status = settle();
    }
    return status;
  }

  // One of what may happen, drawn: a server asks to leave, one is lost (as `lose` says), the program needs more
  // or less of its first *slots, or goes on.
  Status step(std::mt19937& random, const std::function<Status(uint32_t server)>& lose, uint64_t* slots) {
    const auto server = static_cast<uint32_t>(random() % store_->lenders().size());
    Status status;
    switch (random() % 6) {
      case 0:
        courier_->ask_to_leave(server);
        return {};
      case 1:
        return lose(server);
      case 2:
        if (const uint64_t more = std::min<uint64_t>(60, *slots + random() % 40); store_->reserve(more).ok())
          *slots = more;
        return {};
      case 3:
        status = settle();
        for (uint64_t slot = *slots - *slots / 4; slot < *slots && status.ok(); slot++)
          status = release_and_settle(slot);
        *slots -= *slots / 4;
        return status.ok() ? store_->reserve(*slots) : status;
      default:
        return run(static_cast<int>(random() % 100), *slots);
    }
  }
  size_t servers_gone() const {
    size_t gone = 0;
    for (uint32_t server = 0; server < store_->lenders().size(); server++)
      gone += courier_->alive(server) ? 0 : 1;
    return gone;
  }

 private:
  static constexpr uint32_t kMost = 8, kLongest = 24;
  struct Operation {
    bool get;
    uint64_t slot;
    uint32_t units;
  };

  uint32_t contents(uint64_t slot) const { return versions_[slot] * 10'007 + static_cast<uint32_t>(slot); }

  Status one(uint64_t slots) {
    const uint64_t slot = random_() % slots;
    // Also as long as a run was at the start.
    const uint64_t most = std::min({uint64_t{1} + random_() % kLongest, slots - slot,
                                    random_() % 2 == 0 ? limits_[slot] : store_->run_limit(slot)});
    uint32_t units = 0;
    while (units < most && !taken_[slot + units]) units++;
    if (units == 0) return {};
    const uint32_t kind = random_() % 8;
    if (kind == 0) {
      for (uint32_t k = 0; k < units; k++) versions_[slot + k] = 0;
      return store_->release(slot, units);
    }
    if (kind < 4) {
      for (uint32_t k = 0; k < units; k++) versions_[slot + k] = ++version_;
      return start({false, slot, units});
    }
    uint32_t there = 0;
    while (there < units && versions_[slot + there] != 0) there++;
    return there == 0 ? Status() : start({true, slot, there});
  }

  Status start(const Operation& operation) {
    const size_t ticket = idle_.back();
    idle_.pop_back();
    under_way_[ticket] = operation;
    std::byte* const at = memory_.data() + ticket * kLongest * kUnit;
    for (uint32_t k = 0; k < operation.units; k++) {
      taken_[operation.slot + k] = true;
      const uint32_t word = operation.get ? 0 : contents(operation.slot + k);
      for (size_t part = 0; part < kUnit; part += part_)
        for (size_t w = 0; w < kBytes; w += 4) memcpy(at + k * kUnit + part + w, &word, 4);
    }
    return operation.get ? store_->get(operation.slot, operation.units, at, ticket)
                         : store_->put(operation.slot, operation.units, at, ticket);
  }

  Status progress() {
    pager::Tickets done;
    const Status status = store_->progress(&done);
    for (const pager::Ticket ticket : done) {
      const Operation& o = under_way_[ticket];
      const std::byte* const at = memory_.data() + ticket * kLongest * kUnit;
      for (uint32_t k = 0; k < o.units; k++) {
        taken_[o.slot + k] = false;
        for (size_t part = 0; part < kUnit; part += part_) {
          uint32_t words[kBytes / 4];
          memcpy(words, at + k * kUnit + part, kBytes);
          for (const uint32_t word : words) EXPECT_EQ(word, contents(o.slot + k)) << "slot " << o.slot + k;
        }
      }
      idle_.push_back(ticket);
    }
    return status;
  }

  std::mt19937 random_;
  const size_t part_;
  FakeCourier* courier_;
  std::unique_ptr<ClusterStore> store_;
  std::vector<uint32_t> versions_;  // of each slot; 0: not in use
  std::vector<bool> taken_;         // by an operation under way
  std::vector<uint64_t> limits_;
  std::vector<std::byte> memory_;
  std::vector<size_t> idle_;
  Operation under_way_[kMost] = {};
  uint32_t version_ = 0;
};

inline std::vector<uint64_t> draw_capacities(std::mt19937& random, size_t servers, uint64_t least) {
  std::vector<uint64_t> all(servers);
  for (uint64_t& capacity : all) capacity = least + random() % 150;
  return all;
}

inline Fill draw_fill(std::mt19937& random) {
  return random() % 2 == 0 ? Fill::rank : Fill::interleave;
}

// Thirty steps, and everything is there. Adds the servers that are gone then.
inline void go_through_steps(Program& program, uint32_t seed, std::mt19937& random,
                             const std::function<Status(uint32_t server)>& lose, size_t* gone) {
  uint64_t slots = 40;
  ASSERT_TRUE(program.store().reserve(slots).ok());
  for (int step = 0; step < 30; step++) {
    const Status status = program.step(random, lose, &slots);
    ASSERT_TRUE(status.ok()) << seed << ", step " << step << ": " << status.message();
  }
  const Status status = program.verify();
  ASSERT_TRUE(status.ok()) << seed << ": " << status.message();
  *gone += program.servers_gone();
}

}  // namespace tasuki::cluster
