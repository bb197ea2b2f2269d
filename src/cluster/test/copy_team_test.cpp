#include "cluster/transport/copy_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>

namespace tasuki::cluster {
namespace {

TEST(CopyTeam, EveryByteIsCopiedOnce) {
  for (const unsigned threads : {1u, 2u, 5u}) {
    CopyTeam team(threads);
    for (const size_t bytes :
         {size_t{0}, size_t{4096}, size_t{128} << 10, size_t{513} << 10, size_t{2} << 20})
      for (int round = 0; round < 200; round++) {
        std::vector<uint8_t> times(bytes / 4096 + 1);
        std::atomic<size_t> sum{0};
        team.run(bytes, [&](size_t first, size_t end) {
          EXPECT_EQ(first % 4096, 0u);
          for (size_t at = first; at < end; at += 4096) times[at / 4096]++;
          sum += end - first;
        });
        ASSERT_EQ(sum.load(), bytes);
        for (size_t page = 0; page < bytes / 4096; page++) ASSERT_EQ(times[page], 1) << "page " << page;
      }
  }
}

TEST(CopyTeam, EndsAtOnceWithoutWork) {
  for (int i = 0; i < 100; i++) CopyTeam team(4);
}

}  // namespace
}  // namespace tasuki::cluster
