#include "os/memory/userfault.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "os/memory/mapping.h"

namespace tasuki::os {
namespace {

// While the system migrates pages, which it does when memory is short or in pieces, all of them arrive, once.
TEST(UserFault, PagesThatTheSystemMigratesMove) {
  Result<UserFault> opened = UserFault::open(true);
  if (!opened.ok() || !opened.value().can_move()) GTEST_SKIP() << "pages cannot be moved here";
  const int compact = open("/proc/sys/vm/compact_memory", O_WRONLY | O_CLOEXEC);
  if (compact < 0) GTEST_SKIP() << "only root may have the system migrate pages";
  UserFault faults = std::move(opened.value());
  constexpr size_t kBytes = size_t{32} << 20;
  const size_t run_bytes = 64 * page_size();
  std::byte* areas[2];
  for (auto& at : areas) {
    at = static_cast<std::byte*>(map_memory(kBytes));
    ASSERT_NE(at, nullptr);
    no_huge_pages(at, kBytes);
  }
  const auto word = [](std::byte* at) -> uint64_t& { return reinterpret_cast<uint64_t&>(*at); };
  for (size_t page = 0; page < kBytes / page_size(); page++) word(areas[0] + page * page_size()) = page + 1;
  for (std::byte* at : areas) ASSERT_TRUE(faults.add(at, kBytes).ok());
  std::atomic<bool> end{false};
  ssize_t written = 0;
  std::thread migrating([&] {
    for (int i = 0; i < 6; i++) written += write(compact, "1", 1);
    end = true;
  });
  int from = 0;
  for (; !end || from != 0; from = 1 - from)
    for (size_t at = 0; at < kBytes; at += run_bytes) {
      size_t done = 0;
      const int error = faults.move(areas[1 - from] + at, areas[from] + at, run_bytes, &done);
      EXPECT_EQ(error, 0);
      EXPECT_EQ(done, run_bytes);
      if (error != 0) _exit(1);  // a page that is not there would be waited for for ever
    }
  migrating.join();
  EXPECT_EQ(written, 6);
  for (size_t page = 0; page < kBytes / page_size() && !HasFailure(); page++)
    ASSERT_EQ(word(areas[0] + page * page_size()), page + 1);
  for (std::byte* at : areas) unmap(at, kBytes);
  close(compact);
}

}  // namespace
}  // namespace tasuki::os
