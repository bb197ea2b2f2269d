// Allreduce, barrier and halo exchange.
#include <cstdlib>

#include "schedule/test/execution.h"

namespace tasuki::schedule {
namespace {

constexpr uint32_t kRanks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 25, 32, 64};

TEST(Allreduce, EveryContributionOnce) {
  for (const char* name : {"recursive-doubling", "ring-allreduce"})
    for (const uint32_t ranks : kRanks)
      for (const uint64_t bytes : {0, 1, 5, 33, 200}) {
        SCOPED_TRACE(std::string(name) + " " + std::to_string(ranks) + " ranks " + std::to_string(bytes));
        const Schedule s = made(name, {.ranks = ranks, .bytes = bytes});
        Execution e(s);
        for (uint32_t r = 0; r < ranks; r++)
          for (uint64_t i = 0; i < bytes; i++) e.buffer(r, "data")[i] = {uint64_t{1} << r, i, 0};
        e.run();
        const uint64_t all = ranks == 64 ? UINT64_MAX : (uint64_t{1} << ranks) - 1;
        for (uint32_t r = 0; r < ranks; r++)
          for (uint64_t i = 0; i < bytes; i++) {
            ASSERT_EQ(e.buffer(r, "data")[i].who, all) << "rank " << r << " byte " << i;
            ASSERT_EQ(e.buffer(r, "data")[i].index, i) << "rank " << r;
          }
      }
}

TEST(Allreduce, ElementsStayWhole) {
  for (const uint32_t ranks : {2, 3, 5, 7, 16})
    for (const uint64_t elements : {1, 4, 29})
      for (const auto& steps :
           materialise(made("ring-allreduce", {.ranks = ranks, .bytes = elements * 12, .element = 12})))
        for (const Step& step : steps) {
          EXPECT_EQ(step.offset % 12, 0u);
          EXPECT_EQ(step.bytes % 12, 0u);
        }
}

TEST(Barrier, EverybodyHasHeardOfEverybody) {
  for (const uint32_t ranks : kRanks) {
    const Schedule s = made("dissemination", {.ranks = ranks});
    Execution e(s);
    e.run();
    for (uint32_t r = 0; r < ranks; r++) EXPECT_EQ(e.known(r).count(), ranks) << "rank " << r;
  }
}

TEST(Halo, FacesArriveFromTheRightSide) {
  struct Case {
    std::vector<uint32_t> shape;
    bool wraps;
  };
  for (const Case& c : {Case{{1}, true}, Case{{1, 1}, false}, Case{{2}, true}, Case{{2}, false},
                        Case{{5}, true}, Case{{5}, false}, Case{{4, 3}, true}, Case{{2, 3, 1}, true},
                        Case{{2, 3, 2}, false}, Case{{3, 3, 3}, true}, Case{{2, 2, 2, 3}, true}}) {
    Parameters p{.ranks = 1, .bytes = 3, .shape = c.shape, .wraps = c.wraps};
    for (const uint32_t extent : c.shape) p.ranks *= extent;
    SCOPED_TRACE(text(p));
    const Schedule s = made("halo", p);
    const uint64_t faces = 2 * c.shape.size();
    Execution e(s);
    for (uint32_t r = 0; r < p.ranks; r++)
      for (uint64_t i = 0; i < faces * p.bytes; i++)
        e.buffer(r, "send")[i] = {r * faces + i / p.bytes + 1, i % p.bytes, 0};
    e.run();
    for (uint32_t r = 0; r < p.ranks; r++) {
      uint32_t stride = 1;
      for (uint32_t d = 0; d < c.shape.size(); stride *= c.shape[d], d++)
        for (const uint32_t side : {0, 1}) {
          const uint32_t extent = c.shape[d], at = r / stride % extent;
          const bool border = !c.wraps && (side == 0 ? at + 1 == extent : at == 0);
          const uint32_t to = side == 0 ? (at + 1) % extent : (at + extent - 1) % extent;
          const uint64_t theirs = (r - at * stride + to * stride) * faces + 2 * d + (1 - side) + 1;
          for (uint64_t i = 0; i < p.bytes; i++) {
            const Cell& got = e.buffer(r, "receive")[(2 * d + side) * p.bytes + i];
            ASSERT_EQ(got.writes, border ? 0u : 1u) << "rank " << r << " dimension " << d << " side " << side;
            if (border) continue;
            ASSERT_EQ(got.who, theirs) << "rank " << r << " dimension " << d << " side " << side;
            ASSERT_EQ(got.index, i);
          }
        }
    }
  }
}

}  // namespace
}  // namespace tasuki::schedule
