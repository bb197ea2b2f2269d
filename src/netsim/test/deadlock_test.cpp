// The watch for deadlocks, on a network that is made to have them: a ring of one virtual channel without a
// dateline.
#include <gtest/gtest.h>

#include "netsim/simulate.h"
#include "netsim/test/scripted.h"

namespace tasuki::netsim {
namespace {

class BrokenRing final : public Topology {
 public:
  explicit BrokenRing(const Machine& m) : Topology(m) {
    ports_ = 2;
    classes_ = {"forward", "backward"};
    links_.resize(size_t{routers_} * ports_);
    for (uint32_t r = 0; r < routers_; r++) {
      link_at(r, 0) = {(r + 1) % routers_, 1, 0, r + 1 == routers_};
      link_at(r, 1) = {(r + routers_ - 1) % routers_, 0, 1, r == 0};
    }
  }
  uint32_t hops(uint32_t from, uint32_t to) const override { return (to + routers_ - from) % routers_; }
  void add_ideal_load(uint32_t from, uint32_t to, double bytes, std::vector<double>* load) const override {
    (*load)[0] += bytes * hops(from, to);
  }
  Route begin(uint32_t, uint32_t, uint64_t) const override { return Route{}; }
  uint32_t choices(uint32_t router, uint32_t to, Route*, Choice* out) const override {
    if (router == to) return 0;
    out[0] = {0, 0};
    return 1;
  }
  void take(uint32_t, const Choice&, Route*) const override {}
};

// Every node sends half-way round the ring, far more than the buffers hold.
Result<Results> run_ring(const Topology& ring, const Machine& m, uint32_t threads) {
  std::vector<Planned> plan;
  for (uint32_t n = 0; n < m.nodes(); n++)
    plan.push_back({n, 0, {(n + m.nodes() / 2) % m.nodes(), 64 << 10, 0, 0, 0, 0}});
  Scripted driver(plan, m.nodes());
  Options options;
  options.threads = threads;
  return simulate(m, ring, driver, options);
}

TEST(Deadlock, IsFoundAndNamed) {
  const Machine m = paper_machine({8});
  const BrokenRing ring(m);
  std::string first;
  for (const uint32_t threads : {1u, 2u}) {
    const Result<Results> r = run_ring(ring, m, threads);
    ASSERT_FALSE(r.ok()) << threads << " threads";
    EXPECT_EQ(r.status().err(), EDEADLK);
    const std::string why = r.status().message();
    EXPECT_NE(why.find("packets wait for each other"), std::string::npos) << why;
    EXPECT_NE(why.find("router "), std::string::npos) << why;
    EXPECT_NE(why.find("waits for output 0 channel 0"), std::string::npos) << why;
    if (threads == 1) first = why.substr(0, why.find(':'));
    // As many packets, on any number of threads.
    EXPECT_EQ(why.substr(0, why.find(':')), first);
  }
}

// The same traffic, with a dateline.
TEST(Deadlock, ADatelineCuresIt) {
  const Machine m = paper_machine({8});
  const auto ring = make_topology(m);
  for (const uint32_t threads : {1u, 2u}) EXPECT_TRUE(run_ring(*ring, m, threads).ok());
}

}  // namespace
}  // namespace tasuki::netsim
