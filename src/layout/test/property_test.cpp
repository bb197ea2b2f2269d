// Random type trees against the byte map that the MPI definition gives. Every case is reproduced by its seed.
#include <gtest/gtest.h>

#include "layout/test/check.h"

namespace tasuki::layout::testing {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TASUKI_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TASUKI_SANITIZED 1
#endif
#ifdef TASUKI_SANITIZED
constexpr uint64_t kCases = 4000;
#else
constexpr uint64_t kCases = 30000;
#endif

void check_seeds(uint64_t first, uint64_t n, uint64_t limit, bool threads) {
  for (uint64_t seed = first; seed < first + n; seed++) {
    Choices choices(seed);
    ASSERT_EQ(check_case(choices, limit, threads), "") << "seed " << seed;
  }
}

TEST(LayoutProperty, RandomTreesMatchTheDefinition) {
  check_seeds(0, kCases, 400, false);
}

TEST(LayoutProperty, LargerTreesMatchTheDefinition) {
  check_seeds(1000000, kCases / 20, 20000, false);
}

TEST(LayoutProperty, PatternsOfApplicationsMatchTheDefinition) {
  for (uint64_t seed = 0; seed < kCases / 50; seed++) {
    Choices choices(seed);
    ASSERT_EQ(check_patterns(choices, seed % 10 == 0), "") << "seed " << seed;
  }
}

TEST(LayoutProperty, AnyThreadMayTakeAnyPart) {
  check_seeds(2000000, kCases / 20, 3000, true);
}

}  // namespace
}  // namespace tasuki::layout::testing
