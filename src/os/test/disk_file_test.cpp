#include "os/files/disk_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "os/files/transfer_ring.h"
#include "os/memory/memory_file.h"
#include "os/test/blocks.h"

namespace tasuki::os {
namespace {

namespace fs = std::filesystem;

TEST(DiskFile, LeavesNothingInItsDirectory) {
  char directory[] = "/tmp/tasuki-os-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  {
    Result<Fd> file = unnamed_file(directory);
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(write_at(file.value().get(), "x", 1, 12345), 0);
    EXPECT_TRUE(fs::is_empty(directory));
  }
  fs::remove(directory);
  EXPECT_EQ(unnamed_file(directory).status().err(), ENOENT);
  EXPECT_EQ(free_disk_bytes(directory), 0u);
}

TEST(DiskFile, ReservesAndGivesBack) {
  Result<Fd> file = unnamed_file("/tmp");
  ASSERT_TRUE(file.ok());
  const int fd = file.value().get();
  EXPECT_EQ(reserve_blocks(fd, 0, 1 << 20), 0);
  EXPECT_EQ(reserve_blocks(fd, 1 << 20, 3 << 20), 0);
  const uint64_t taken = bytes_taken(fd);
  EXPECT_GE(taken, uint64_t{3} << 20);
  char byte = 1;
  EXPECT_EQ(read_at(fd, &byte, 1, (3 << 20) - 1), 0);
  EXPECT_EQ(byte, 0);
  cut_off(fd, 1 << 20);
  EXPECT_LT(bytes_taken(fd), taken);
  const int reason = reserve_blocks(fd, 1 << 20, uint64_t{1} << 43);  // 8 TiB
  EXPECT_TRUE(reason == ENOSPC || reason == EFBIG) << reason;
  EXPECT_LT(bytes_taken(fd), taken);
}

TEST(TransferRing, WritesAndReadsWhatItIsGiven) {
  Result<TransferRing> opened = TransferRing::open(8);
  if (!opened.ok()) GTEST_SKIP() << opened.status().message();
  TransferRing ring = std::move(opened.value());
  Result<Fd> file = unnamed_file("/tmp");
  ASSERT_TRUE(file.ok());
  const int fd = file.value().get();
  constexpr size_t kBytes = 4096;
  char* const memory = static_cast<char*>(std::aligned_alloc(4096, 16 * kBytes));
  const std::unique_ptr<char, void (*)(void*)> owner(memory, std::free);
  for (size_t i = 0; i < 8; i++) memset(memory + i * kBytes, static_cast<int>('a' + i), kBytes);
  EXPECT_EQ(ring.under_way(), 0u);
  for (uint64_t i = 0; i < 8; i++) {
    EXPECT_FALSE(ring.full());
    ring.write(fd, memory + i * kBytes, kBytes, i * kBytes, 100 + i);
  }
  EXPECT_TRUE(ring.full());
  EXPECT_EQ(ring.start(), 0);
  std::map<uint64_t, int64_t> results;
  const auto collect = [&] {
    results.clear();
    TransferRing::Done done;
    while (ring.under_way() > 0)
      while (ring.next(&done)) results[done.token] = done.result;
  };
  collect();
  ASSERT_EQ(results.size(), 8u);
  for (const auto& [token, result] : results) EXPECT_EQ(result, static_cast<int64_t>(kBytes)) << token;
  // The last ends behind the file's end: it gets nothing. An error is a negative number.
  for (uint64_t i = 0; i < 6; i++) ring.read(fd, memory + (8 + i) * kBytes, kBytes, (i + 3) * kBytes, i);
  ring.read(-1, memory, kBytes, 0, 6);
  EXPECT_EQ(ring.start(), 0);
  collect();
  ASSERT_EQ(results.size(), 7u);
  for (uint64_t i = 0; i < 5; i++) {
    EXPECT_EQ(results[i], static_cast<int64_t>(kBytes));
    EXPECT_EQ(memcmp(memory + (3 + i) * kBytes, memory + (8 + i) * kBytes, kBytes), 0) << i;
  }
  EXPECT_EQ(results[5], 0);
  EXPECT_EQ(results[6], -EBADF);
}

}  // namespace
}  // namespace tasuki::os
