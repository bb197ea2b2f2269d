// Every route of every topology: it arrives, a minimal one is as short as hops() says, and the channels that
// packets may wait for form no circle.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "netsim/test/scripted.h"
#include "netsim/topology/topology.h"

namespace tasuki::netsim {
namespace {

class Channels {
 public:
  Channels(const Machine& m, const Topology& t) : m_(m), t_(t) {}
  uint32_t id(uint32_t router, const Choice& c) const {
    return (router * t_.ports() + c.port) * m_.channels + c.channel;
  }

  // Follows one route, `pick` choosing among the ways, and notes which channel may wait for which.
  uint32_t follow(uint32_t from, uint32_t to, uint64_t random, uint64_t pick) {
    Route route = t_.begin(from, to, random);
    uint32_t router = t_.router_of(from), hops = 0;
    std::set<uint32_t> held;
    Choice choices[kMostChoices];
    for (uint32_t n = t_.choices(router, to, &route, choices); n != 0;
         n = t_.choices(router, to, &route, choices)) {
      // It may wait for the last way only; every channel of that kind which it came through is held as far as
      // the packet reaches, so each earlier one depends on this (indirect dependence included).
      const uint32_t wanted = id(router, choices[n - 1]);
      for (const uint32_t h : held) waits[h].insert(wanted);
      const Choice& c = choices[n == 1 ? 0 : pseudo_random(&pick) % n];
      EXPECT_LT(c.channel, m_.channels);
      EXPECT_NE(t_.link(router, c.port).router, kNone);
      if (&c == &choices[n - 1]) held.insert(wanted);
      t_.take(router, c, &route);
      router = t_.link(router, c.port).router;
      if (++hops > 1000) {
        ADD_FAILURE() << "does not arrive: " << from << " to " << to;
        break;
      }
    }
    EXPECT_EQ(router, t_.router_of(to));
    return hops;
  }

  bool has_circle() const {
    std::map<uint32_t, int> state;  // 1: on the way, 2: done
    for (const auto& [start, unused] : waits) {
      (void)unused;
      std::vector<std::pair<uint32_t, std::set<uint32_t>::const_iterator>> stack;
      const auto enter = [&](uint32_t c) {
        state[c] = 1;
        const auto it = waits.find(c);
        stack.push_back({c, it == waits.end() ? none_.begin() : it->second.begin()});
      };
      if (state[start] == 0) enter(start);
      while (!stack.empty()) {
        const uint32_t c = stack.back().first;
        const auto it = waits.find(c);
        const auto end = it == waits.end() ? none_.end() : it->second.end();
        if (stack.back().second == end) {
          state[c] = 2;
          stack.pop_back();
          continue;
        }
        const uint32_t next = *stack.back().second++;
        if (state[next] == 1) return true;
        if (state[next] == 0) enter(next);
      }
    }
    return false;
  }

  std::map<uint32_t, std::set<uint32_t>> waits;

 private:
  const Machine& m_;
  const Topology& t_;
  const std::set<uint32_t> none_;
};

void check(const Machine& m) {
  ASSERT_TRUE(check_machine(m).ok()) << check_machine(m).message();
  const auto t = make_topology(m);
  for (uint32_t r = 0; r < t->routers(); r++)
    for (uint32_t p = 0; p < t->ports(); p++) {
      const Link& l = t->link(r, p);
      if (l.router == kNone) continue;
      // A cable has two directions: credits take the other one.
      EXPECT_EQ(t->link(l.router, l.port).router, r);
      EXPECT_EQ(t->link(l.router, l.port).port, p);
    }
  Channels channels(m, *t);
  uint64_t random = 5;
  const int tries = m.routing == RoutingAlgorithm::deterministic ? 2 : 12;
  for (uint32_t a = 0; a < t->nodes(); a++)
    for (uint32_t b = 0; b < t->nodes(); b++)
      for (int i = 0; i < tries; i++) {
        const uint32_t hops = channels.follow(a, b, pseudo_random(&random), pseudo_random(&random));
        if (m.routing != RoutingAlgorithm::valiant) {
          EXPECT_EQ(hops, t->hops(a, b));
        }
      }
  EXPECT_FALSE(channels.has_circle());
}

TEST(Routing, Torus) {
  for (const auto& extents :
       std::vector<std::vector<uint32_t>>{{8}, {9}, {2, 2}, {4, 5}, {6, 6}, {3, 1, 4}, {3, 2, 3, 2}}) {
    Machine m = paper_machine(extents);
    check(m);
    m.ties = Ties::split;
    m.channel_use = ChannelUse::crossing;
    check(m);
    m.channel_use = ChannelUse::balanced;
    check(m);
    m.channels = 4;
    m.routing = RoutingAlgorithm::adaptive;
    check(m);
    m.routing = RoutingAlgorithm::valiant;
    check(m);
  }
}

TEST(Routing, MeshAndTofu) {
  Machine m = paper_machine({5, 4});
  m.wraps = {false, false};
  m.channels = 1;
  check(m);
  m = paper_machine({2, 2, 3, 2, 3, 2});
  m.wraps = {true, true, true, false, true, false};
  check(m);
}

TEST(Routing, FatTree) {
  for (const RoutingAlgorithm a :
       {RoutingAlgorithm::deterministic, RoutingAlgorithm::adaptive, RoutingAlgorithm::valiant}) {
    Machine m = paper_machine({});
    m.topology = TopologyKind::fat_tree;
    m.arity = 3;
    m.levels = 3;
    m.routing = a;
    check(m);
    m.arity = 4;
    m.levels = 2;
    check(m);
    m.levels = 1;
    check(m);
  }
}

TEST(Routing, Dragonfly) {
  for (const RoutingAlgorithm a : {RoutingAlgorithm::deterministic, RoutingAlgorithm::valiant}) {
    Machine m = paper_machine({});
    m.topology = TopologyKind::dragonfly;
    m.group_routers = 4;
    m.global_links = 2;
    m.router_nodes = 2;
    m.channels = 3;
    m.routing = a;
    check(m);
  }
}

// The test itself: a ring without a dateline has a circle.
TEST(Routing, TheCircleTestFindsCircles) {
  Machine m = paper_machine({6});
  const auto t = make_topology(m);
  Channels channels(m, *t);
  for (uint32_t r = 0; r < 6; r++) channels.waits[r].insert((r + 1) % 6);
  EXPECT_TRUE(channels.has_circle());
}

}  // namespace
}  // namespace tasuki::netsim
