#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "os/memory/control_groups.h"
#include "os/memory/host_memory.h"
#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"
#include "os/memory/scattered.h"
#include "os/test/blocks.h"

namespace tasuki::os {
namespace {

namespace fs = std::filesystem;

TEST(MemoryFile, TakesMemoryAsItIsWrittenAndGivesItBack) {
  const size_t size = size_t{64} << 30;  // more than any test machine has: nothing may be reserved
  Result<Fd> file = memory_file(size);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const int fd = file.value().get();
  char* p = static_cast<char*>(map_memory_file(fd, size));
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(bytes_taken(fd), 0u);
  memset(p + (size_t{1} << 30), 7, 8 * page_size());
  const std::vector<char> page(page_size(), 9);
  EXPECT_EQ(write_at(fd, page.data(), page.size(), size - page_size()), 0);
  EXPECT_EQ(p[size - 1], 9);
  EXPECT_EQ(bytes_taken(fd), 9 * page_size());
  EXPECT_TRUE(punch_hole(fd, (size_t{1} << 30) + page_size(), 7 * page_size()));
  EXPECT_EQ(bytes_taken(fd), 2 * page_size());
  EXPECT_EQ(p[size_t{1} << 30], 7);
  EXPECT_EQ(p[(size_t{1} << 30) + page_size()], 0);
  char beyond;
  EXPECT_EQ(read_at(fd, &beyond, 1, size), ENODATA);
  unmap(p, size);
}

TEST(Scattered, PagesDisappearTogetherAndSayWhetherTheyAreThere) {
  constexpr size_t kPages = 300;
  Result<Scattered> scattered = Scattered::open();
  if (!scattered.ok()) GTEST_SKIP() << scattered.status().message();
  char* at = static_cast<char*>(map_memory(kPages * page_size()));
  ASSERT_NE(at, nullptr);
  memset(at, 1, kPages * page_size());
  std::vector<Extent> some;
  std::vector<void*> pages;
  for (size_t i = 0; i < Scattered::kMost; i++) {
    if (i % 2 == 0) some.push_back({at + 2 * i * page_size(), page_size() * (1 + i % 4 / 2)});
    pages.push_back(at + 2 * i * page_size());
  }
  std::vector<uint8_t> there(pages.size());
  ASSERT_TRUE(scattered_present(pages.data(), pages.size(), there.data()));
  for (const uint8_t one : there) EXPECT_EQ(one, 1);
  EXPECT_EQ(scattered.value().discard(some.data(), some.size()), some.size());
  ASSERT_TRUE(scattered_present(pages.data(), pages.size(), there.data()));
  for (size_t i = 0; i < there.size(); i++) EXPECT_EQ(there[i], i % 2) << i;
  EXPECT_EQ(at[page_size()], 1);
  EXPECT_EQ(at[0], 0);
  // One that is locked stays, and so do those behind it.
  memset(at, 1, kPages * page_size());
  ASSERT_EQ(mlock(some[3].at, page_size()), 0);
  EXPECT_EQ(scattered.value().discard(some.data(), some.size()), 3u);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(static_cast<char*>(some[2].at)[0], 0);
  EXPECT_EQ(static_cast<char*>(some[4].at)[0], 1);
  unmap(at, kPages * page_size());
}

TEST(MemoryFile, IsSharedThroughTheDescriptorOfAProcess) {
  Result<Fd> file = memory_file(page_size());
  ASSERT_TRUE(file.ok());
  Result<Fd> second = open_descriptor_of(getpid(), file.value().get());
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(write_at(second.value().get(), "shared", 7, 100), 0);
  char text[7];
  EXPECT_EQ(read_at(file.value().get(), text, 7, 100), 0);
  EXPECT_STREQ(text, "shared");
  EXPECT_FALSE(open_descriptor_of(getpid(), 9999).ok());
}

TEST(MemoryFile, AboveTheLimitOfFileSizesIsAnErrorNotASignal) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = page_size();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const Result<Fd> file = memory_file(2 * page_size());
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(file.status().err(), EFBIG);
}

// A machine as files, at a root of its own.
class Recorded : public ::testing::Test {
 protected:
  Recorded() {
    char directory[] = "/tmp/tasuki-host-XXXXXX";
    root_ = mkdtemp(directory);
    write("proc/meminfo", "MemTotal:       33554432 kB\nMemFree: 1 kB\nMemAvailable:   16777216 kB\n");
  }
  ~Recorded() override { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) {
    fs::create_directories((fs::path(root_) / path).parent_path());
    std::ofstream(fs::path(root_) / path) << text;
  }
  std::string root_;
};

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST_F(Recorded, WithoutGroups) {
  EXPECT_EQ(host_memory(root_).total, 32 * kGiB);
  EXPECT_EQ(host_memory(root_).available, 16 * kGiB);
  EXPECT_EQ(host_memory(root_ + "/nowhere").total, 0u);
}

TEST_F(Recorded, AParentsLimitCounts) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.max", std::to_string(8 * kGiB) + "\n");
  write("sys/fs/cgroup/job/memory.current", std::to_string(3 * kGiB) + "\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file " + std::to_string(kGiB) + "\n");
  EXPECT_EQ(host_memory(root_).total, 8 * kGiB);
  EXPECT_EQ(host_memory(root_).available, 6 * kGiB);
  EXPECT_EQ(host_memory(root_).physical, 32 * kGiB);
}

TEST_F(Recorded, VersionOneInAContainer) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(4 * kGiB) + "\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(5 * kGiB) + "\n");
  EXPECT_EQ(host_memory(root_).total, 4 * kGiB);
  EXPECT_EQ(host_memory(root_).available, 0u);
}

TEST_F(Recorded, GroupsAreWhereTheyAreMounted) {
  write("proc/self/cgroup", "0::/job\n");
  write("proc/self/mounts", "none /groups cgroup2 rw,nosuid 0 0\n");
  write("groups/memory.max", std::to_string(4 * kGiB) + "\n");
  write("sys/fs/cgroup/memory.max", std::to_string(2 * kGiB) + "\n");
  EXPECT_EQ(host_memory(root_).total, 4 * kGiB);
}

// As different machines show it: the groups with a limit of memory, and the limit's file.
std::vector<std::string> limits(const std::string& mounts, const std::string& own) {
  std::vector<std::string> all;
  for (const ControlGroup& group : control_groups_of(mounts, own, "memory"))
    all.push_back(group.folder + " " + memory_limit_file(group));
  return all;
}

TEST(ControlGroups, VersionTwoGoesOutwards) {
  EXPECT_EQ(limits("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n", "0::/user.slice/app.slice/x.scope\n"),
            (std::vector<std::string>{"/sys/fs/cgroup/user.slice/app.slice/x.scope memory.max",
                                      "/sys/fs/cgroup/user.slice/app.slice memory.max",
                                      "/sys/fs/cgroup/user.slice memory.max", "/sys/fs/cgroup memory.max"}));
}

TEST(ControlGroups, VersionOneByItsController) {
  const std::string mounts =
      "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
      "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n"
      "cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n";
  EXPECT_EQ(limits(mounts, "5:cpu,cpuacct:/a\n4:memory:/job/1\n0::/\n"),
            (std::vector<std::string>{"/sys/fs/cgroup/memory/job/1 memory.limit_in_bytes",
                                      "/sys/fs/cgroup/memory/job memory.limit_in_bytes",
                                      "/sys/fs/cgroup/memory memory.limit_in_bytes"}));
}

TEST(ControlGroups, BothVersionsAndNone) {
  const std::string both = "cgroup /cg/memory cgroup rw,memory 0 0\ncgroup2 /cg/unified cgroup2 rw 0 0\n";
  EXPECT_EQ(limits(both, "3:memory:/\n0::/\n"),
            (std::vector<std::string>{"/cg/memory memory.limit_in_bytes", "/cg/unified memory.max"}));
  EXPECT_TRUE(limits("proc /proc proc rw 0 0\n", "0::/\n").empty());
}

TEST(ControlGroups, OfOtherControllers) {
  const std::vector<ControlGroup> groups = control_groups_of(
      "cgroup /cg/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\ncgroup /cg/set cgroup rw,cpuset 0 0\n",
      "5:cpuset:/x\n4:cpu,cpuacct:/a\n", "cpu");
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].folder, "/cg/cpu,cpuacct/a");
  EXPECT_EQ(groups[1].folder, "/cg/cpu,cpuacct");
}

}  // namespace
}  // namespace tasuki::os
