#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "pager/stores/file_store.h"
#include "pager/stores/ram_store.h"
#include "pager/test/store_conformance.h"

namespace tasuki::pager {
namespace {

class Stores : public ::testing::TestWithParam<size_t> {};

TEST_P(Stores, Ram) {
  Result<std::unique_ptr<RamStore>> store = RamStore::create(GetParam(), 300);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(check_store(*store.value(), {.operations = 5000}), "");
}

TEST_P(Stores, File) {
  Result<std::unique_ptr<FileStore>> store = FileStore::create("/tmp", GetParam(), 300);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(check_store(*store.value(), {.operations = 5000}), "");
}

INSTANTIATE_TEST_SUITE_P(Units, Stores, ::testing::Values(4096, 65536));

TEST(RamStore, NoMoreThanTheAddressSpace) {
  EXPECT_EQ(RamStore::create(4096, UINT64_MAX / 4096).status().err(), ENOMEM);
  EXPECT_TRUE(RamStore::create(4096, 0).ok());
}

TEST(FileStore, NamesTheDirectoryThatIsWrong) {
  const Status status = FileStore::create("/nowhere/at all", 4096, 10).status();
  EXPECT_EQ(status.err(), ENOENT);
  EXPECT_NE(status.message().find("/nowhere/at all"), std::string::npos) << status.message();
}

TEST(FileStore, AFileThatMayNotGrowIsAClearError) {
  Result<std::unique_ptr<FileStore>> store = FileStore::create("/tmp", 4096, 100);
  ASSERT_TRUE(store.ok());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 10 * 4096;
  const auto disposition = signal(SIGXFSZ, SIG_IGN);  // the pager's thread has it blocked
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::vector<std::byte> page(4096);
  const Status within = store.value()->put(9, 1, page.data(), 1);
  const Status beyond = store.value()->put(50, 1, page.data(), 2);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, disposition);
  EXPECT_TRUE(within.ok()) << within.message();
  EXPECT_EQ(beyond.err(), EFBIG);
  EXPECT_NE(beyond.message().find("ulimit -f"), std::string::npos) << beyond.message();
}

}  // namespace
}  // namespace tasuki::pager
